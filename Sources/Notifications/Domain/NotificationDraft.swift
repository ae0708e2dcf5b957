import CampanileAPI
internal import CampanileCrypto
import CampanileRPC

/// A medium that was published inline, named by its SHA-256 in hexadecimal.
struct InlineContent: Sendable, Hashable {
  var id: String
  var data: [UInt8]
}

/// A notification that was checked and is to be published.
struct NotificationDraft: Sendable, Hashable {
  /// Without inline data: its attachments name their contents.
  var notification: Notification
  var contents: [InlineContent] = []
  /// Publishing it is a beat of this heartbeat; empty for none.
  var heartbeatID = ""

  init(_ notification: Notification, heartbeatID: String = "") throws(RPCError) {
    self.notification = notification
    self.heartbeatID = heartbeatID
    for index in notification.attachments.indices where !notification.attachments[index].data.isEmpty {
      let data = notification.attachments[index].data
      let id: String
      do throws(CryptoError) {
        id = try SHA256.digest(data).hexadecimal
      } catch {
        throw RPCError(.internalError, "an attachment cannot be hashed")
      }
      if !contents.contains(where: { $0.id == id }) { contents.append(InlineContent(id: id, data: data)) }
      self.notification.attachments[index].data = []
      self.notification.attachments[index].contentId = id
      self.notification.attachments[index].sizeBytes = Int32(clamping: data.count)
    }
  }
}
