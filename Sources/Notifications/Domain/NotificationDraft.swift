import CampanileAPI
import CampanileBase
import CampanileCodec
internal import CampanileCrypto
import CampanileRPC

/// An inline medium, identified by its SHA-256 in hexadecimal.
struct InlineContent: Sendable, Hashable {
  var id: String
  var data: [UInt8]
}

/// A validated notification, ready to be published.
struct NotificationDraft: Sendable, Hashable {
  /// The notification without inline data; its attachments refer to their contents by id.
  var notification: Notification
  var contents: [InlineContent] = []
  /// The heartbeat for which this publication counts as a beat; empty if there is none.
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

extension NotificationDraft {
  /// Returns the notification as it is sent to others. Its delivery depends on each recipient.
  func sent(at target: PublishingTarget) -> Notification {
    var notification = notification
    notification.id = target.id
    if notification.priority == .unspecified { notification.priority = .normal }
    notification.createTime = ProtoTimestamp(millisecondsSince1970: target.createdAtMs)
    notification.updateTime = notification.createTime
    notification.deliverTime = nil
    notification.recipientIds = []
    notification.completeActions()
    return notification
  }
}

extension Notification {
  /// Sets the notification's own id in actions that open it, so that every reader gets it.
  mutating func completeActions() {
    for index in actions.indices { actions[index].complete(in: id) }
    tapAction?.complete(in: id)
  }
}

extension Action {
  fileprivate mutating func complete(in notificationID: String) {
    if type == .openNotification, value.isEmpty { value = notificationID }
  }
}
