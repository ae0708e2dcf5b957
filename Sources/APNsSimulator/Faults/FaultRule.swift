import APNs

/// A fault that is applied to a request.
enum FaultAction: Sendable, Hashable {
  /// Responds with this refusal; the request has no other effect.
  case answer(Refusal)
  /// Delays the response by a random time in this range.
  case delay(minMs: Int64, maxMs: Int64)
  /// Processes the push, then ends the connection with GOAWAY (RFC 9113 section 6.8). Its last stream id is that of
  /// this request, so that later streams are not processed.
  case goAway
  /// Sends RST_STREAM in place of a response (RFC 9113 section 6.4): INTERNAL_ERROR if the request was processed,
  /// otherwise REFUSED_STREAM.
  case reset(isProcessed: Bool)
  /// Closes the connection in place of a response.
  case close(isProcessed: Bool)
  /// Never responds.
  case stall(isProcessed: Bool)

  /// The name in listings and logs.
  var name: String {
    switch self {
    case .answer: "answer"
    case .delay: "delay"
    case .goAway: "goaway"
    case .reset: "reset"
    case .close: "close"
    case .stall: "stall"
    }
  }
}

/// A filter for the requests that a fault applies to; nil members match all.
struct FaultMatch: Sendable, Hashable {
  var pathPrefix: String?
  var topic: String?
  var pushType: String?
  var keyID: String?

  func fits(_ context: PushContext) -> Bool {
    if let pathPrefix, !context.path.hasPrefix(pathPrefix) { return false }
    if let topic, context.fields.topic != topic { return false }
    if let pushType, context.fields.pushType != pushType { return false }
    guard let keyID else { return true }
    switch context.provider {
    case .verified(let token, _), .unknownKey(let token), .wrongSignature(let token): return token.keyID == keyID
    case .missing, .malformed: return false
    }
  }
}

/// A scripted fault: its action, its requests, its frequency and its duration.
struct FaultRule: Sendable, Hashable {
  var id = 0
  var match = FaultMatch()
  var action: FaultAction
  /// Applies the fault to every n-th matching request; 1 for each.
  var every = 1
  /// Probability of the fault, drawn after `every`.
  var probability = 1.0
  /// Number of times it may still occur; nil for no limit.
  var remaining: Int?
  /// End of the fault in milliseconds since 1970; nil for never.
  var untilMs: Int64?
  /// Number of matching requests so far.
  var matched = 0
  /// Number of times it was applied.
  var applied = 0

  init(_ action: FaultAction) { self.action = action }

  func isOver(nowMs: Int64) -> Bool { remaining == 0 || (untilMs.map { nowMs >= $0 } ?? false) }
}
