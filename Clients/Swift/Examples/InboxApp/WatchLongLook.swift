#if canImport(WatchKit) && canImport(UserNotifications) && !os(iOS) && !os(tvOS) && !os(visionOS)
  import CampanileActivities
  import Foundation
  import SwiftUI
  import UserNotifications
  import WatchKit

  /// A notification on Apple Watch: the push at first, then the whole notification with its actions.
  final class LongLookController: WKUserNotificationHostingController<LongLookView> {
    private let inbox = Inbox()
    private lazy var look = LongLookModel(inbox.campanile, outbox: inbox.outbox)

    override var body: LongLookView { LongLookView(look: look) }

    override func didReceive(_ notification: UNNotification) {
      let pushed = PushedNotification(userInfo: notification.request.content.userInfo)
      look.show(pushed)
      Task {
        await look.load(pushed.id)
        _ = try? await inbox.outbox.sendNow(through: inbox.campanile.caller)
      }
    }
  }

  struct LongLookView: View {
    let look: LongLookModel

    var body: some View {
      ScrollView {
        VStack(alignment: .leading, spacing: 12) {
          Text(look.title).font(.headline)
          if let subtitle = look.subtitle { Text(subtitle).font(.subheadline).foregroundStyle(.secondary) }
          Divider()
          if let url = look.imageURL {
            AsyncImage(url: url) { image in
              image
            } placeholder: {
              ProgressView()
            }
          }
          if let body = look.body { Text(body).font(.body) }
          Divider()
          HStack(spacing: 20) {
            ForEach(look.baseActions) { action in
              Button {
                look.perform(action.id)
              } label: {
                VStack(spacing: 4) {
                  Image(systemName: action.symbolName).foregroundStyle(Color(hex: action.colorHex) ?? .primary)
                  Text(action.label).font(.caption)
                }
              }
              .disabled(look.performed.contains(action.id))
            }
          }
          ForEach(look.actions) { action in
            Button(action.label, role: action.isDestructive ? .destructive : nil) { look.perform(action.id) }
          }
        }
      }
    }
  }
#endif
