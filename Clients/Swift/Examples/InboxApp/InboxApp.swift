#if canImport(SwiftUI)
  import CampanileActivities
  import Foundation
  import SwiftUI

  /// The unread notifications of a user, also without a network.
  @main struct InboxApp: App {
    @State private var inbox = Inbox()

    var body: some Scene {
      WindowGroup {
        NavigationStack {
          InboxView(unread: inbox.unread)
        }
        .task { await inbox.run() }
      }
    }
  }

  /// The objects of the app, which its widget and its notification extension create in the same way.
  @MainActor final class Inbox {
    let campanile: Campanile
    let outbox: Outbox
    let registrar: LiveActivityRegistrar
    let unread: UnreadModel

    init() {
      let folder = URL.sharedFolder
      campanile = Campanile(
        URL(string: "https://api.example")!,
        credentials: StoredCredentials(FileCredentialStore(path: folder.appendingPathComponent("credential").path)))
      outbox = Outbox(path: folder.appendingPathComponent("outbox").path, reconnect: campanile.reconnect)
      registrar = LiveActivityRegistrar(
        .init(app: "com.example.inbox", installationID: "phone-1"), outbox: outbox)
      unread = UnreadModel(campanile, outbox: outbox)
    }

    /// Sends what waits, and registers the tokens of the activity that shows the newest notifications.
    func run() async {
      #if canImport(ActivityKit) && !os(macOS)
        registrar.follow(UnreadActivityAttributes.self) { attributes, _ in attributes.id }
      #endif
      try? await outbox.run(through: campanile.caller)
    }
  }

  extension URL {
    /// The folder that the processes of the app share; on a device, the container of the app group.
    static var sharedFolder: URL { FileManager.default.temporaryDirectory }
  }

  struct InboxView: View {
    let unread: UnreadModel

    var body: some View {
      List(unread.notifications, id: \.id) { notification in
        VStack(alignment: .leading) {
          Text(notification.title).font(.headline)
          if let subtitle = notification.subtitle { Text(subtitle).font(.subheadline) }
          Text(unread.buckets[notification.bucketId]?.name ?? "").font(.caption).foregroundStyle(.secondary)
        }
        .swipeActions {
          Button("Read") { unread.markRead(notification.id) }
          Button("Delete", role: .destructive) { unread.delete(notification.id) }
        }
      }
      .navigationTitle(unread.isStale ? "Inbox (offline)" : "Inbox")
      .badge(unread.unreadCount)
      .task { await unread.run() }
    }
  }
#endif
