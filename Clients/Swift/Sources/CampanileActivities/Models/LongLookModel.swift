public import CampanileClient
public import CampanileNotifications
public import Foundation
public import Observation

/// A notification as a watch shows it at length: title and subtitle, a picture, the text, three round actions in a row,
/// and the other actions with labels.
@MainActor @Observable public final class LongLookModel {
  /// The content that the push carried, to show until `look` is loaded.
  public private(set) var pushed: PushedNotification?
  public private(set) var look: LongLook?
  /// The bytes of a picture that the server stores; `nil` if there is none, or if it has an address.
  public private(set) var imageData: [UInt8]?
  /// The actions that the user has chosen here.
  public private(set) var performed: Set<String> = []
  public private(set) var error: RPCError?

  @ObservationIgnored private let campanile: Campanile
  @ObservationIgnored private let outbox: Outbox

  public init(_ campanile: Campanile, outbox: Outbox) {
    self.campanile = campanile
    self.outbox = outbox
  }

  public var title: String { look?.title ?? pushed?.title ?? "" }
  public var subtitle: String? { look?.subtitle ?? pushed?.subtitle }
  public var body: String? { look?.body ?? pushed?.body }
  public var imageURL: URL? { look.map { $0.imageUrl.flatMap { URL(string: $0) } } ?? pushed?.mediaURL }

  /// The round actions: mark as read, delete, open.
  public var baseActions: [LongLookButton] { (look?.baseActions ?? []).map(LongLookButton.init) }
  /// The actions below, with labels.
  public var actions: [LongLookButton] { (look?.actions ?? []).map(LongLookButton.init) }

  /// Shows the content of a push at once.
  public func show(_ notification: PushedNotification) { pushed = notification }

  /// Loads the notification, also one that the device has not cached.
  public func load(_ notificationID: String) async {
    let service = campanile.notifications.service
    do {
      let loaded = try await service.getLongLook(.init(notificationId: notificationID)).longLook
      look = loaded
      error = nil
      if let contentID = loaded?.imageContentId {
        imageData = try await service.getAttachmentContent(
          .init(notificationId: notificationID, contentId: contentID)
        ).data
      }
    } catch {
      self.error = error as? RPCError ?? RPCError(.unknown, "\(error)")
    }
  }

  /// Performs an action on the server: at once, or once there is a network. It runs once.
  public func perform(_ actionID: String) {
    guard let id = look?.notificationId ?? pushed?.id, !id.isEmpty else { return }
    do throws(RPCError) {
      try outbox.add(
        NotificationsServiceMethods.invokeAction, InvokeActionRequest(notificationId: id, actionId: actionID),
        object: id)
      performed.insert(actionID)
    } catch {
      self.error = error
    }
  }
}

/// An action of a long look with its symbol and colour.
public struct LongLookButton: Sendable, Hashable, Identifiable {
  /// The action id for `LongLookModel.perform`.
  public let id: String
  public let label: String
  /// The name of an SF Symbol.
  public let symbolName: String
  /// `#RRGGBB`.
  public let colorHex: String
  public let isDestructive: Bool

  public init(_ action: LongLookAction) {
    id = action.actionId
    label = action.label
    isDestructive = action.destructive
    (symbolName, colorHex) =
      switch action.actionId {
      case "mark_as_read": ("checkmark.circle.fill", "#34C759")
      case "delete": ("trash.circle.fill", "#FF3B30")
      case "open": ("arrow.right.circle.fill", "#007AFF")
      default: ("chevron.right", action.destructive ? "#FF3B30" : "#8E8E93")
      }
  }
}
