import CampanileBase
import CampanileRPC
import Gateway
import NIOCore
import NIOHTTP1

// Admission of requests by their heads: authentication, authorization and body limits. It runs before any byte of the
// body is stored, decompressed or translated.
extension HTTPConnection {
  func judge(_ exchange: HTTPExchange, _ target: HTTPJudgedTarget) {
    guard let judge = service?.judge else { return refuseUnserved(exchange) }
    switch exchange.decision {
    case .call(let plan):
      judgeCall(exchange, plan.method, plan.metadata, judge)
    case .refusal:
      guard let method = target.method else { return judgeRequest(exchange, target.credentials, .plain, judge) }
      judgeCall(exchange, method, target.credentials, judge)
    case .dialect(let plan): judgeRequest(exchange, plan.credentials, plan.kind, judge)
    case .upload(let plan):
      var credentials = Metadata()
      if let authorization = plan.authorization { credentials.add(authorization, for: "authorization") }
      judgeRequest(exchange, credentials, .calls(method: plan.method, isOpen: false), judge)
    case .answer, .operations: judgeRequest(exchange, target.credentials, .plain, judge)
    }
  }

  /// Refuses calls until the dispatcher is attached. The gateway's own paths are served without it.
  private func refuseUnserved(_ exchange: HTTPExchange) {
    switch exchange.decision {
    case .call, .upload, .dialect: exchange.refusal = HTTPRefusal(error: Self.goingAway, style: exchange.style)
    case .answer, .operations, .refusal: break
    }
  }

  private func judgeCall(_ exchange: HTTPExchange, _ method: [UInt8], _ metadata: Metadata, _ judge: any HeadJudge) {
    let call = ServerCall(transport: self, metadata: metadata)
    switch method.withUnsafeBytes({ judge.admit(call, method: $0) }) {
    case .success(let caller): exchange.caller = caller
    case .failure(let error): refuse(exchange, error)
    }
    // A refused call has already ended. Its error is sent after the body has been discarded.
    exchange.call = call
  }

  private func judgeRequest(
    _ exchange: HTTPExchange, _ credentials: Metadata, _ kind: RequestKind, _ judge: any HeadJudge
  ) {
    let call = ServerCall(transport: self, metadata: credentials)
    switch judge.admit(call, as: kind) {
    case .success(let admitted):
      exchange.caller = admitted.caller
      exchange.admitted = admitted
    case .failure(let error): refuse(exchange, error)
    }
  }

  /// Records an admission failure, which takes precedence over other errors in the head. A connection that must end
  /// because of those still ends.
  private func refuse(_ exchange: HTTPExchange, _ error: RPCError) {
    let endsConnection = exchange.refusal?.endsConnection ?? false
    exchange.refusal = HTTPRefusal(error: error, style: exchange.style, endsConnection: endsConnection)
  }

  /// Counts a request with an unreadable head against the rate limit of its address.
  ///
  /// - Returns: The error to send if the rate limit is exceeded.
  func countUnread() -> RPCError? {
    guard case .failure(let error)? = service?.judge.admit(ServerCall(transport: self, metadata: [:]), as: .plain)
    else { return nil }
    return error
  }

  // MARK: body limits

  /// Maximum length of an unwanted body that is read and discarded to keep the connection usable. A longer one ends the
  /// connection.
  static let passingBytesMax = 64 * 1024

  /// Returns the maximum length of the request's body, both before and after decompression.
  func bodyBytesMax(_ exchange: HTTPExchange) -> Int {
    if exchange.refusal != nil { return min(Self.passingBytesMax, configuration.bodyBytesMax) }
    return exchange.caller?.principalName == nil
      ? min(configuration.strangerBodyBytesMax, configuration.bodyBytesMax) : configuration.bodyBytesMax
  }

  func bodyTimeoutMs(_ exchange: HTTPExchange) -> Int64 {
    exchange.caller?.principalName == nil || exchange.refusal != nil
      ? min(configuration.strangerBodyTimeoutMs, configuration.bodyTimeoutMs) : configuration.bodyTimeoutMs
  }

  func bodyTooLarge(_ exchange: HTTPExchange) -> RPCError {
    let limit = bodyBytesMax(exchange)
    let isLess = limit < configuration.bodyBytesMax && exchange.refusal == nil
    return RPCError(
      .resourceExhausted,
      "the body is longer than \(limit) bytes"
        + (isLess ? ", the limit for callers without a credential" : ""),
      reason: "BODY_TOO_LARGE", processed: false)
  }

  /// Returns the account of the request's buffered bytes, creating it if necessary.
  func account(_ exchange: HTTPExchange) -> BodyAccount {
    if let known = exchange.account { return known }
    let principal = exchange.caller?.principalName
    let made = BodyAccount(
      frontend.waitingBytesBudget, holder: principal ?? addressHolder, isStranger: principal == nil)
    exchange.account = made
    return made
  }
}
