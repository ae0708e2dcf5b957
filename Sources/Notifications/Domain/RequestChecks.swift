import CampanileAPI
import CampanileCodec
internal import CampanileCrypto
import CampanileRPC
import CampanileStore

/// Checks of whole requests.
enum RequestChecks {
  static let requestIDMax = 64

  static func requestID(_ id: String, _ field: @autoclosure () -> String, _ violations: inout Violations) {
    violations.text(id, field(), max: requestIDMax)
  }

  /// Forgets what only the server sets.
  static func clearOutput(_ notification: inout Notification) {
    for index in notification.attachments.indices {
      notification.attachments[index].contentId = ""
      notification.attachments[index].sizeBytes = 0
    }
  }

  /// Minutes of a snooze: up to a year.
  static func minutes(_ minutes: Int32, from lowest: Int32, _ violations: inout Violations) {
    guard (lowest...525_600).contains(minutes) else {
      return violations.add("minutes", "must be \(lowest) to 525600", .outOfRange)
    }
  }

  /// A time that lies ahead.
  static func future(
    _ time: ProtoTimestamp?, _ field: String, nowMs: Int64, _ violations: inout Violations
  ) {
    guard let time else { return }
    guard (-62_135_596_800...253_402_300_799).contains(time.seconds), (0...999_999_999).contains(time.nanos) else {
      return violations.add(field, "must be in the years 1 to 9999, with 0 to 999999999 nanos", .outOfRange)
    }
    if time.millisecondsSince1970 <= nowMs { violations.add(field, "must be in the future", .timePast) }
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

  /// Ids of a mark or delete call: 1 to the limit. What they name is found out by the repository.
  static func ids(_ ids: [String], _ limits: NotificationsLimits) throws(RPCError) {
    var violations = Violations()
    count(ids.count, "notificationIds", limits, &violations)
    try violations.check()
  }

  static func count(
    _ count: Int, _ field: String, _ limits: NotificationsLimits, _ violations: inout Violations
  ) {
    if count == 0 {
      violations.add(field, "must not be empty", .required)
    } else if count > limits.batchEntriesMax {
      violations.add(field, "must have at most \(limits.batchEntriesMax) entries", .tooMany)
    }
  }
}

/// A request that is answered once: its id and what it asks for.
public struct RepeatableRequest: Sendable, Hashable {
  var key: IdempotencyKey
  var requestHash: [UInt8]

  /// Nil without a request id. `request` is the request with an empty id.
  init?<M: ProtoMessage>(
    _ requestID: String, _ request: M, method: MethodDescriptor, user: String
  ) throws(RPCError) {
    if requestID.isEmpty { return nil }
    key = IdempotencyKey(principal: user, method: method.path, requestID: requestID)
    do throws(CryptoError) {
      requestHash = try SHA256.digest(request.jsonUTF8Bytes()).bytes
    } catch {
      throw RPCError(.internalError, "the request cannot be hashed")
    }
  }
}
