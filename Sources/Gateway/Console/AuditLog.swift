import CampanileAPI
import Logging

/// Records sign-ins, and changes of keys and sessions.
///
/// A failure to store an event does not undo the action; it is logged for the operator.
struct AuditLog: Sendable {
  let repository: AuditEventRepository
  let logger: Logger
  let nowMs: @Sendable () -> Int64

  /// Creates an event with the caller of the current call.
  func event(_ action: AuditEvent.Action, subject: String = "") -> StoredAuditEvent {
    let caller = LocalCall.current
    return StoredAuditEvent(
      createdAtMs: nowMs(), action: action, principal: caller?.principalName ?? "", address: caller?.address ?? "",
      subject: subject)
  }

  /// Deletes the events that are too old or too many.
  func purge() async throws { while try await repository.purge(nowMs: nowMs()) == AuditEventRepository.purgeRows {} }

  func record(_ action: AuditEvent.Action, subject: String) async { await record(event(action, subject: subject)) }

  func record(_ event: StoredAuditEvent) async {
    do {
      if event.action == .signInFailed {
        try await repository.insert(failure: event)
      } else {
        try await repository.insert(event)
      }
    } catch {
      logger.error("cannot store an audit event", metadata: ["action": "\(event.action)", "error": "\(error)"])
    }
  }
}
