public import CampanileCodec

/// A request of a watch.
public protocol WatchRequest: ProtoMessage {
  /// The position after which the watch resumes; empty for the present.
  var resumeToken: String { get set }
}

/// A response of a watch: `{resume_token, oneof event {started, change}}`.
public protocol WatchResponse: ProtoMessage {
  associatedtype Change: Sendable
  /// The position after this response; empty if it has none.
  var resumeToken: String { get }
  var kind: WatchResponseKind<Change> { get }
}

/// The event of a watch's response.
public enum WatchResponseKind<Change: Sendable>: Sendable {
  case started
  case change(Change)
  /// Everything that was committed before the watch started has been sent.
  case reached
  /// An event of a newer server.
  case unknown
}
