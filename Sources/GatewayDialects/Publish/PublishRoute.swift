import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import Gateway
import GatewayHTTP

/// Publishing with one line: a text to `/publish` or `/publish/{bucket}`, with parameters in headers or in the query.
///
/// The last segment is a publish key, or the id or name of a bucket. Serves POST and PUT with a text or a file, and
/// GET.
struct PublishRoute: HTTPDialect {
  static let allowed = ["GET", "POST", "PUT"]

  let nowMs: @Sendable () -> Int64

  func plan(_ request: RequestHead, segments: [Substring]) throws(RPCError) -> DialectPlan? {
    guard segments.first == "publish", segments.count <= 2 else { return nil }
    let target = segments.count == 2 ? try RequestPath.decoded(segments[1]) : nil
    guard Self.allowed.contains(request.method) else {
      return DialectPlan.unserved(allowed: Self.allowed, request["authorization"], DialectAnswer.rest)
    }
    let read = Result { () throws(RPCError) in try PublishParameters(request) }
    let credential = PublishCredential(request["authorization"], target: target, (try? read.get())?[.key])
    let plan = DialectPlan(
      access: credential.access, takesBody: request.method != "GET" && (try? read.get()) != nil,
      authorization: credential.authorization, failure: { DialectAnswer.rest(Self.renamed($0)) }
    ) { (body, calls) async throws(RPCError) in
      if request.method == "GET", request.hasBody { throw DialectAnswer.bodyUnexpected }
      var parameters = try read.get()
      let body = try PublishBody(body, contentType: request["content-type"], &parameters)
      let session = PublishSession(credential: credential, requestID: request["idempotency-key"] ?? "")
      return try await session.publish(try PublishMessage(parameters, body: body, nowMs: nowMs()), calls)
    }
    if let fault = credential.fault { return plan.refused(with: fault) }
    return plan
  }

  /// Returns an error with the names of the parameters in place of the notification's fields.
  static func renamed(_ error: RPCError) -> RPCError {
    var error = error
    let names = [
      ("notification.body", "message"), ("notification.deliverTime", "delay"), ("notification.tapAction", "click"),
      ("notification.collapseKey", "sequenceId"), ("notification.bucketId", "bucket"), ("notification.", ""),
      ("secret", "key"), ("requestId", "Idempotency-Key"),
    ]
    for (index, violation) in error.fieldViolations.enumerated() {
      guard let (old, new) = names.first(where: { violation.field.hasPrefix($0.0) }) else { continue }
      error.fieldViolations[index].field = new + violation.field.dropFirst(old.count)
    }
    if error.message.hasPrefix("notification."), let first = error.fieldViolations.first {
      let more = error.fieldViolations.count - 1
      error.message = "\(first.field): \(first.description)" + (more > 0 ? " (and \(more) more)" : "")
    }
    return error
  }
}

/// The credential and the destination of a request to publish, read from its head alone.
struct PublishCredential: Sendable {
  /// A publish key, whose bucket is the destination. It takes precedence over the caller's own credential.
  private(set) var publishKey: String?
  /// The bucket's id or name from the path; nil if a parameter has to name it.
  private(set) var bucket: String?
  /// The request's credential in the suite's form.
  private(set) var authorization: String?
  /// Set for a publish key that cannot be valid.
  private(set) var fault: RPCError?

  private static let prefix = "cpk_"

  /// - Parameter key: The parameter `key`.
  init(_ authorization: String?, target: String?, _ key: String?) {
    let presented = authorization.map(Self.bearer)
    let keys = [presented.map { String($0.dropFirst("Bearer ".count)) }, target, key].compactMap { $0 }
      .filter { $0.hasPrefix(Self.prefix) }
    publishKey = keys.first
    if target?.hasPrefix(Self.prefix) != true { bucket = target }
    if presented?.hasPrefix("Bearer \(Self.prefix)") != true { self.authorization = presented }
    guard let publishKey else { return }
    if Set(keys).count > 1 {
      fault = RPCError(
        .invalidArgument, "the request has two publish keys", reason: "REQUEST_INVALID", processed: false)
    } else if publishKey.utf8.count != Self.prefix.utf8.count + 43 {
      fault = RPCError(
        .unauthenticated, "the publish key is not valid", reason: "PUBLISH_KEY_INVALID", processed: false)
    } else if bucket != nil {
      fault = RPCError(
        .invalidArgument, "the publish key determines the bucket: leave it out of the path", reason: "REQUEST_INVALID",
        processed: false)
    }
  }

  /// Publishing with a publish key needs no other credential.
  var access: DialectPlan.Access {
    publishKey == nil ? .method(NotificationsServiceMethods.createNotification) : .open
  }

  /// Returns Basic authentication as a bearer token: the password is the key (`curl -u :cmp_…`).
  private static func bearer(_ value: String) -> String {
    let parts = value.split(separator: " ", omittingEmptySubsequences: true)
    guard parts.count == 2 else { return value }
    if parts[0].lowercased() == "bearer" { return "Bearer \(parts[1])" }
    guard parts[0].lowercased() == "basic", let bytes = EncodedWords.base64(parts[1]),
      let pair = String(validating: bytes, as: UTF8.self), let colon = pair.firstIndex(of: ":")
    else { return value }
    return "Bearer \(pair[pair.index(after: colon)...])"
  }
}
