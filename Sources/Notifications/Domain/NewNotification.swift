import CampanileAPI
import CampanileRPC
import CampanileService

/// One entry of a batch.
struct NewNotification: Sendable {
  /// The path of the entry in the request: `requests[3].`.
  var path: String
  /// The notification to create, or what its fields violate.
  var draft: Result<NotificationDraft, RPCError>
  var repeatable: RepeatableRequest?
}
