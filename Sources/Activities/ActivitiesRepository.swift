import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService

/// Stores activities, their scheduled events, and the log of their changes.
///
/// Every function serves one user: an object of another user throws NOT_FOUND, like one that does not exist. Arguments
/// must already be validated (see Domain/). A change, its pushes, its timers and its log entry form one transaction,
/// durable when the function returns. Errors are `RPCError`s. Lists return up to one item more than the page size, so
/// that the caller knows whether there is another page.
protocol ActivitiesRepository: Sendable {
  /// The wall clock in milliseconds since 1970.
  var clockMs: @Sendable () -> Int64 { get }

  /// Returns the stored reply of a repeated request that yields an activity; nil for a new one.
  ///
  /// - Throws: FAILED_PRECONDITION, reason `REQUEST_ID_REUSED`.
  func reply(to idempotency: IdempotentRequest?) async throws -> Activity?
  /// Starts an activity, or schedules it for its `start_time`. Ends a live activity of the same room first.
  ///
  /// - Throws: ALREADY_EXISTS, reason `ACTIVITY_EXISTS`; RESOURCE_EXHAUSTED, reason `ACTIVITIES_EXHAUSTED`;
  ///   FAILED_PRECONDITION, reason `PUSH_TO_START_TOKEN_MISSING` or `REQUEST_ID_REUSED`; INVALID_ARGUMENT, reason
  ///   `PAYLOAD_TOO_LARGE`.
  func start(_ draft: ActivityDraft, user: String, idempotency: IdempotentRequest?) async throws -> Activity
  /// Updates a live activity.
  ///
  /// - Throws: NOT_FOUND; FAILED_PRECONDITION, reason `ACTIVITY_ENDED`, `ACTIVITY_DRIVEN` or `REQUEST_ID_REUSED`;
  ///   ABORTED, reason `ETAG_MISMATCH`; INVALID_ARGUMENT, reason `PAYLOAD_TOO_LARGE`.
  func update(_ update: ActivityUpdate, user: String) async throws -> Activity
  /// Applies the change that `decide` returns to a live activity; nil leaves it unchanged. `decide` must not have side
  /// effects.
  ///
  /// - Throws: NOT_FOUND; FAILED_PRECONDITION, reason `ACTIVITY_ENDED`; ABORTED, reason `ETAG_MISMATCH`;
  ///   INVALID_ARGUMENT, reason `PAYLOAD_TOO_LARGE`; the errors of `decide`.
  func change(
    _ id: String, user: String, idempotency: IdempotentRequest?,
    _ decide: @escaping @Sendable (StoredActivity, _ nowMs: Int64) throws -> StateChange?
  ) async throws -> Activity
  /// Updates several activities in one commit, with a result for each. Throws only if nothing was stored.
  func update(_ entries: [Result<ActivityUpdate, RPCError>], user: String) async throws -> [Result<Activity, RPCError>]
  /// Ends an activity now or schedules its end. Returns an activity that has already ended unchanged.
  func end(_ request: EndActivityRequest, _ end: PlannedEnd, user: String) async throws -> StoredActivity
  /// Stops or continues the pushes of a live activity's states. Continuing pushes the newest state.
  ///
  /// - Throws: NOT_FOUND; FAILED_PRECONDITION, reason `ACTIVITY_ENDED`; RESOURCE_EXHAUSTED, reason `PUSHES_EXHAUSTED`.
  func setPushes(_ areEnabled: Bool, ofActivity id: String, user: String) async throws -> Activity
  /// Changes a page of the live activities of a group, of any user, in one commit.
  func updateGroup(_ query: GroupQuery, _ change: StateChange, idempotency: IdempotentRequest?) async throws
    -> UpdateActivityGroupResponse
  /// Ends a page of the live activities of a group, of any user, in one commit.
  func endGroup(_ query: GroupQuery, _ change: StateChange, idempotency: IdempotentRequest?) async throws
    -> EndActivityGroupResponse
  /// Pushes a reload to the user's widgets and controls, once for a request id.
  func reload(_ reload: WidgetReload, idempotency: IdempotentRequest?) async throws -> ReloadWidgetsResponse
  /// Reads the signing keys that other processes have just added. Returns whether there are any.
  func learnSigningKeys() async throws -> Bool
  /// Returns an unused activity id.
  func newActivityID() -> String
  /// Changes the live activities of a driver, of one subject or (nil) of all.
  ///
  /// - Parameter respond: Creates the response, which is stored for repetitions, from the activities that were found.
  func changeDriven<Response: ProtoMessage>(
    _ kind: ActivityDriver.Kind, app: String, subject: String?, user: String, idempotency: IdempotentRequest?,
    _ decide: @escaping @Sendable (StoredActivity, _ nowMs: Int64) throws -> StateChange?,
    respond: @escaping @Sendable ([StoredActivity]) throws -> Response
  ) async throws -> Response
  /// Ends every live activity immediately.
  func endAll(user: String, idempotency: IdempotentRequest?) async throws -> EndAllActivitiesResponse

  func activity(_ id: String, user: String) async throws -> GetActivityResponse
  func activities(_ query: ActivityQuery) async throws -> [StoredActivity]
  func status(app: String, user: String) async throws -> GetActivityStatusResponse

  /// Stores a user's unread summary if it is newer than the known one, and shows it in their unread activities.
  ///
  /// - Returns: Whether the summary was new, and the number of activities that show it.
  func put(_ summary: UnreadSummary, sequence: Int64, user: String) async throws -> PutUnreadSummaryResponse
  /// Pushes an alert to the user's devices once.
  ///
  /// - Returns: The ids of the pushes; nil for a repeated alert.
  func send(_ alert: AlertDraft) async throws -> [String]?
  /// Returns whether an alert with this id was sent to the user within the last 7 days.
  func hasSent(alertID: String, user: String) async throws -> Bool

  /// Returns the position at which a new watch begins.
  ///
  /// - Throws: INVALID_ARGUMENT for a token that is not this user's; OUT_OF_RANGE, reason `TOKEN_TOO_OLD`; NOT_FOUND
  ///   for the activity.
  func watchStart(resumeToken: String, activityID: String?, user: String) async throws -> ResumeToken
  /// Returns the user's changes after a token, oldest first. Throws OUT_OF_RANGE, reason `TOKEN_TOO_OLD`.
  func changes(after token: ResumeToken, user: String, rowsMax: Int) async throws -> [LoggedActivityChange]
}

/// Stores the push tokens, with the same contract as `ActivitiesRepository`.
protocol PushTokensRepository: Sendable {
  var clockMs: @Sendable () -> Int64 { get }

  /// Stores a token unless a newer one is known for its place, and pushes its activity's newest state to it.
  ///
  /// - Throws: ALREADY_EXISTS, reason `TOKEN_TAKEN`; NOT_FOUND for the activity; RESOURCE_EXHAUSTED, reason
  ///   `TOKENS_EXHAUSTED`; INVALID_ARGUMENT, reason `APP_MISMATCH` or `ENVIRONMENT_MISMATCH`.
  func register(_ draft: TokenDraft, user: String) async throws -> (token: PushToken, isSuperseded: Bool)
  /// Sets the values of an installation's tokens and returns the number of its tokens in use. Nil keeps a value.
  func update(_ installation: InstallationKey, _ values: InstallationValues) async throws -> Int
  /// Returns the digits of the newest update token of an activity, of one installation or (empty) of any.
  ///
  /// - Throws: NOT_FOUND for the activity or, reason `TOKEN_NOT_FOUND`, for its token.
  func updateToken(ofActivity id: String, installationID: String, user: String) async throws -> String
  func token(_ id: String, user: String) async throws -> PushToken
  func tokens(_ query: PositionQuery, includeRetired: Bool) async throws -> [PushToken]
  func deleteToken(_ id: String, user: String) async throws
}

extension ActivitiesRepository {
  /// Starts the activity that `draft` validates.
  ///
  /// If the validation fails, a repeated request still gets its stored reply: its start time may have passed meanwhile.
  func start(
    user: String, idempotency: IdempotentRequest?, _ draft: () async throws -> ActivityDraft
  ) async throws -> Activity {
    let checked: ActivityDraft
    do {
      do {
        checked = try await draft()
      } catch let error as RPCError where error.reason == Reason.signingKeyMissing.rawValue {
        guard try await learnSigningKeys() else { throw error }
        checked = try await draft()
      }
    } catch {
      if let reply = try await reply(to: idempotency) { return reply }
      throw error
    }
    return try await start(checked, user: user, idempotency: idempotency)
  }
}
