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

  /// Checks that a mark or delete call has 1 to the maximum number of ids. The repository checks whether they exist.
  static func ids(_ ids: [String], _ limits: NotificationsLimits) throws(RPCError) {
    try Violations.check { count(ids.count, "notificationIds", limits, &$0) }
  }
}
