import CampanileAPI
import CampanileBase
import CampanileRPC
import CampanileService

extension RequestChecks {
  /// Clears the fields that only the server sets.
  static func clearOutput(_ notification: inout Notification) {
    for index in notification.attachments.indices {
      notification.attachments[index].contentId = ""
      notification.attachments[index].sizeBytes = 0
    }
  }

  static func creation(_ request: CreateBucketRequest, _ violations: inout Violations) -> Bucket {
    requestID(request.requestId, "requestId", &violations)
    guard let bucket = request.bucket else {
      violations.add("bucket", "must be given", .required)
      return Bucket()
    }
    BucketRules.check(bucket, "bucket", &violations)
    return bucket
  }

  /// Checks that a mark or delete call has 1 to the maximum number of ids. The repository checks whether they exist.
  static func ids(_ ids: [String], _ limits: NotificationsLimits) throws(RPCError) {
    var violations = Violations()
    count(ids.count, "notificationIds", limits, &violations)
    try violations.check()
  }
}
