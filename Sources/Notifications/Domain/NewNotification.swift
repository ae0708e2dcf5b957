import CampanileAPI
import CampanileBase
import CampanileRPC
import CampanileService

/// One entry of a batch.
struct NewNotification: Sendable {
  /// The path of the entry in the request, such as `requests[3].`.
  var path: String
  /// The notification to create, or the error of its fields.
  var draft: Result<NotificationDraft, RPCError>
  var idempotency: IdempotentRequest?
}
