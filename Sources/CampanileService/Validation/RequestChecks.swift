public import CampanileBase
public import CampanileCodec
internal import CampanileCrypto
public import CampanileRPC
public import CampanileStore

/// Checks of whole requests.
public enum RequestChecks {
  public static let requestIDMax = 64

  public static func requestID(_ id: String, _ field: @autoclosure () -> String, _ violations: inout Violations) {
    violations.text(id, field(), max: requestIDMax)
  }

  /// Checks that a time is in the future.
  public static func future(
    _ time: ProtoTimestamp?, _ field: String, nowMs: Int64, _ violations: inout Violations
  ) {
    guard let time else { return }
    guard (-62_135_596_800...253_402_300_799).contains(time.seconds), (0...999_999_999).contains(time.nanos) else {
      return violations.add(field, "must be in the years 1 to 9999, with 0 to 999999999 nanos", .outOfRange)
    }
    if time.millisecondsSince1970 <= nowMs { violations.add(field, "must be in the future", .timePast) }
  }

  public static func count(
    _ count: Int, _ field: String, _ limits: some ServiceLimits, _ violations: inout Violations
  ) {
    if count == 0 {
      violations.add(field, "must not be empty", .required)
    } else if count > limits.batchEntriesMax {
      violations.add(field, "must have at most \(limits.batchEntriesMax) entries", .tooMany)
    }
  }
}

/// A request that is executed only once: its idempotency key and the hash of its content.
public struct IdempotentRequest: Sendable, Hashable {
  public var key: IdempotencyKey
  public var requestHash: [UInt8]

  /// Returns nil without a request id. `id` is the field of the request with that id.
  public init?<M: ProtoMessage>(
    _ request: M, id: WritableKeyPath<M, String>, method: MethodDescriptor, user: String
  ) throws(RPCError) {
    let requestID = request[keyPath: id]
    if requestID.isEmpty { return nil }
    var requestWithoutID = request
    requestWithoutID[keyPath: id] = ""
    try self.init(requestID, requestWithoutID, method: method, user: user)
  }

  /// Returns nil without a request id. `request` must have an empty id.
  public init?<M: ProtoMessage>(
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
