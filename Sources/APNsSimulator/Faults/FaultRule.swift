import APNs

/// What goes wrong with a request.
enum FaultAction: Sendable, Hashable {
  /// It is answered with this and has no other effect.
  case answer(Refusal)
  /// The answer comes later by a random time between these.
  case delay(minMs: Int64, maxMs: Int64)
  /// The push is processed; then the connection ends with GOAWAY (RFC 9113 section 6.8). Streams that were opened after
  /// this one's are not processed, as its last stream id says.
  case goAway
  /// RST_STREAM in place of the answer (RFC 9113 section 6.4): REFUSED_STREAM when it was not processed, else INTERNAL_ERROR.
  case reset(isProcessed: Bool)
  /// The connection is closed in place of the answer.
  case close(isProcessed: Bool)
  /// It is never answered.
  case stall(isProcessed: Bool)

  /// In listings and logs.
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

/// Which requests a fault is for; nil matches each.
struct FaultMatch: Sendable, Hashable {
  var pathPrefix: String?
  var topic: String?
  var pushType: String?
  var keyID: String?

  func fits(_ facts: PushFacts) -> Bool {
    if let pathPrefix, !facts.path.hasPrefix(pathPrefix) { return false }
    if let topic, facts.fields.topic != topic { return false }
    if let pushType, facts.fields.pushType != pushType { return false }
    guard let keyID else { return true }
    switch facts.provider {
    case .verified(let token, _), .unknownKey(let token), .wrongSignature(let token): return token.keyID == keyID
    case .missing, .malformed: return false
    }
  }
}

/// A scripted fault: what happens, to which requests, how often and for how long.
struct FaultRule: Sendable, Hashable {
  var id = 0
  var match = FaultMatch()
  var action: FaultAction
  /// It happens to every so many of the matching requests; 1 is each.
  var every = 1
  /// It happens with this probability, drawn after `every`.
  var probability = 1.0
  /// How often it may still happen; nil has no end.
  var remaining: Int?
  /// When it ends, milliseconds since 1970; nil never.
  var untilMs: Int64?
  /// Matching requests so far.
  var matched = 0
  /// How often it happened.
  var applied = 0

  init(_ action: FaultAction) { self.action = action }

  func isOver(nowMs: Int64) -> Bool { remaining == 0 || (untilMs.map { nowMs >= $0 } ?? false) }
}
