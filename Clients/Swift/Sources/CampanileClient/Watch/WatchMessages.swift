public import CampanileCodec
public import CampanileMessages

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

extension WatchNotificationsRequest: WatchRequest {}
extension WatchNotificationsResponse: WatchResponse {
  public var kind: WatchResponseKind<NotificationChange> {
    switch event {
    case .started: .started
    case .change(let change): .change(change)
    case nil: .unknown
    }
  }
}

extension WatchActivitiesRequest: WatchRequest {}
extension WatchActivitiesResponse: WatchResponse {
  public var kind: WatchResponseKind<ActivityChange> {
    switch event {
    case .started: .started
    case .change(let change): .change(change)
    case nil: .unknown
    }
  }
}

extension WatchZoneChangesRequest: WatchRequest {}
extension WatchZoneChangesResponse: WatchResponse {
  public var kind: WatchResponseKind<ZoneChange> {
    switch event {
    case .started: .started
    case .change(let change): .change(change)
    case nil: .unknown
    }
  }
}

extension WatchRosterChangesRequest: WatchRequest {}
extension WatchRosterChangesResponse: WatchResponse {
  public var kind: WatchResponseKind<RosterChange> {
    switch event {
    case .started: .started
    case .change(let change): .change(change)
    case .reached: .reached
    case nil: .unknown
    }
  }
}

// The messages of a device have sequence numbers instead of tokens.
extension WatchUpdatesRequest: WatchRequest {
  public var resumeToken: String {
    get { afterSequence == 0 ? "" : String(afterSequence) }
    set { afterSequence = Int64(newValue) ?? 0 }
  }
}
extension WatchUpdatesResponse: WatchResponse {
  public var resumeToken: String { sequence == 0 ? "" : String(sequence) }
  public var kind: WatchResponseKind<SyncUpdate> {
    switch event {
    case .started: .started
    case .update(let update): .change(update)
    case nil: .unknown
    }
  }
}
