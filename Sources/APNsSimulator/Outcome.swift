import APNs

/// A complete request.
struct ReceivedPush: Sendable, Hashable {
  var method: String
  var path: String
  var fields: PushFields
  /// The body, truncated above all limits.
  var body: [UInt8]
  /// The number of bytes received; a lower bound for a truncated body.
  var bodyBytes: Int
}

/// The use of a connection so far.
struct ConnectionUse: Sendable, Hashable {
  /// 1 for the first connection of this process.
  var number: Int
  var issue: ProviderIssue?
}

/// The action for a request's stream and connection.
struct Outcome: Sendable, Hashable {
  enum Action: Sendable, Hashable {
    case answer(Answer)
    case answerAndGoAway(Answer)
    /// RST_STREAM: REFUSED_STREAM, or INTERNAL_ERROR if the request was processed.
    case reset(isProcessed: Bool)
    case close
    case nothing
  }

  var action: Action
  var delayMs: Int64 = 0
}

/// A response of APNs.
struct Answer: Sendable, Hashable {
  var status: Int
  /// `apns-id`, for broadcasts and channels `apns-request-id`.
  var id: String
  var refusal: Refusal?
  var channelID: String?
  /// JSON of a channel or of a list of channels.
  var body: String?

  /// Returns the header with the id of a request to this path.
  static func idHeader(_ path: String) -> String {
    path.hasPrefix(APNsPath.broadcasts) || path.hasPrefix(APNsPath.apps) ? APNsHeader.requestID : APNsHeader.id
  }
}
