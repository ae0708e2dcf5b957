import CampanileAPI
import CampanileBase
import CampanileRPC
import CampanileService

extension RequestChecks {
  /// Clears the fields that only the server sets.
  static func clearOutput(_ notification: inout Notification) {
    for index in notification.attachments.indices {
      notification.attachments[index].contentId = ""
      notification.attachments[index].sizeBytes = 0
    }
  }
}
