import CampanileAPI
import CampanileRPC
import CampanileService

/// Keeps activities, what is to happen to them, and the log of their changes.
///
/// Every function serves one user and sees nothing of the others: what belongs to another user throws NOT_FOUND, like what
/// does not exist. Arguments are checked before (see Domain/). A change, its pushes, its timers and its log entry are one
/// transaction, durable when the function returns. Failures are `RPCError`s. Lists answer at most one more than the page's
/// size, so that the caller knows whether there is another page.
protocol ActivitiesRepository: Sendable {
  /// The wall clock in milliseconds since 1970.
  var clockMs: @Sendable () -> Int64 { get }

  /// Starts an activity, or puts it down for its `start_time`. One of the same room that lives is ended in its place.
  ///
  /// Throws ALREADY_EXISTS, reason `ACTIVITY_EXISTS`; RESOURCE_EXHAUSTED, reason `ACTIVITIES_EXHAUSTED`; FAILED_PRECONDITION,
  /// reason `PUSH_TO_START_TOKEN_MISSING` or `REQUEST_ID_REUSED`; INVALID_ARGUMENT, reason `PAYLOAD_TOO_LARGE`.
  func start(_ draft: ActivityDraft, user: String, repeatable: RepeatableRequest?) async throws -> Activity
  /// Changes a live activity as `decide` says; nil keeps it as it is. `decide` only reads its arguments.
  ///
  /// Throws NOT_FOUND; FAILED_PRECONDITION, reason `ACTIVITY_ENDED`; ABORTED, reason `ETAG_MISMATCH`; INVALID_ARGUMENT,
  /// reason `PAYLOAD_TOO_LARGE`; what `decide` throws.
  func change(
    _ id: String, user: String, _ decide: @escaping @Sendable (StoredActivity, _ nowMs: Int64) throws -> ActivityChange?
  ) async throws -> StoredActivity
  /// Several in one commit, each with its own result; throws only when nothing was kept at all.
  func change(
    _ entries: [(id: String, path: String, change: Result<ActivityChange, RPCError>)], user: String
  ) async throws -> [Result<StoredActivity, RPCError>]
  /// Ends an activity now, or puts its end down; one that has ended is answered as it is.
  func end(_ request: EndActivityRequest, _ end: PlannedEnd, user: String) async throws -> StoredActivity
  /// Changes the live activities of a driver, of one subject or (nil) of all, and answers those that were changed.
  func changeDriven(
    _ kind: ActivityDriver.Kind, app: String, subject: String?, user: String,
    _ decide: @escaping @Sendable (StoredActivity, _ nowMs: Int64) throws -> ActivityChange?
  ) async throws -> [StoredActivity]
  /// Ends every live activity at once; answers how many there were.
  func endAll(user: String) async throws -> Int

  func activity(_ id: String, user: String) throws -> Activity
  func activities(_ query: ActivityQuery) throws -> [StoredActivity]
  func status(app: String, user: String) throws -> GetActivityStatusResponse

  /// Keeps a user's unread summary unless it is not newer than the known one, and shows it in their unread activities.
  /// Answers whether it was new, and in how many it is shown.
  func put(_ summary: UnreadSummary, sequence: Int64, user: String) async throws -> PutUnreadSummaryResponse
  /// Pushes an alert to the user's devices once. Answers the ids of the pushes; nil for a repeat.
  func send(_ alert: AlertDraft) async throws -> [String]?

  /// Where a new watch begins. Throws INVALID_ARGUMENT for a token that is none of this user's, OUT_OF_RANGE, reason
  /// `TOKEN_TOO_OLD`, and NOT_FOUND for the activity.
  func watchStart(resumeToken: String, activityID: String?, user: String) throws -> ResumeToken
  /// The user's changes after a token, oldest first. Throws OUT_OF_RANGE, reason `TOKEN_TOO_OLD`.
  func changes(after token: ResumeToken, user: String, rowsMax: Int) throws -> [Change]
}

/// Keeps the tokens, as `ActivitiesRepository` says.
protocol PushTokensRepository: Sendable {
  var clockMs: @Sendable () -> Int64 { get }

  /// Keeps a token unless a newer one is known for its place, and pushes its activity's newest state to it.
  ///
  /// Throws ALREADY_EXISTS, reason `TOKEN_TAKEN`; NOT_FOUND for the activity; RESOURCE_EXHAUSTED, reason `TOKENS_EXHAUSTED`;
  /// INVALID_ARGUMENT, reason `APP_MISMATCH` or `ENVIRONMENT_MISMATCH`.
  func register(_ draft: TokenDraft, user: String) async throws -> (token: PushTokenInfo, isSuperseded: Bool)
  func token(_ id: String, user: String) throws -> PushTokenInfo
  func tokens(_ query: PositionQuery, includeRetired: Bool) throws -> [PushTokenInfo]
  func deleteToken(_ id: String, user: String) async throws
}
