/// A request that has come whole.
struct PushRequest: Sendable, Hashable {
  var method: String
  var path: String
  var fields: PushFields
  /// Cut off above every limit.
  var body: [UInt8]
  /// What came, at least.
  var bodyBytes: Int
}

/// What a connection was used for.
struct ConnectionUse: Sendable, Hashable {
  /// 1 for the first of this process.
  var number: Int
  var issue: ProviderIssue?
}

/// What is to be done with a request's stream and connection.
struct Outcome: Sendable, Hashable {
  enum Action: Sendable, Hashable {
    case answer(Answer)
    case answerAndGoAway(Answer)
    /// RST_STREAM: REFUSED_STREAM, or INTERNAL_ERROR when the request was processed.
    case reset(isProcessed: Bool)
    case close
    case nothing
  }

  var action: Action
  var delayMs: Int64 = 0
}

/// An answer of APNs.
struct Answer: Sendable, Hashable {
  var status: Int
  var id: String
  var refusal: Refusal?
  var channelID: String?
  /// JSON of a channel or a list of them.
  var body: String?
}
