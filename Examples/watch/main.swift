import CampanileAPI
import CampanileBase
import CampanileRPC
import Foundation

// Prints the number of unread notifications of a key's user, and then every change, until Ctrl-C.
guard let key = ProcessInfo.processInfo.environment["CAMPANILE_KEY"],
  let gateway = HostPort(CommandLine.arguments.dropFirst().first ?? "127.0.0.1:7400")
else {
  print("usage: CAMPANILE_KEY=cmp_… watch [HOST:PORT]")
  exit(64)
}
let client = try RPCClient(ClientConfiguration(addresses: [gateway], token: key))
let notifications = NotificationsServiceClient(client)

func report(_ change: NotificationChange) {
  switch change.change {
  case .notificationCreated(let notification): print("new: \(notification.title)")
  case .notificationUpdated(let notification): print("changed: \(notification.title)")
  case .notificationDeleted(let deleted): print("deleted: \(deleted.notificationId)")
  case .notificationsMarkedRead: print("marked as read")
  case .bucketCreated, .bucketUpdated, .bucketDeleted, nil: break
  }
}

// The token of the last event that was processed. With it, a new watch begins where the last one ended.
var resumeToken = ""
while true {
  do {
    for try await message in notifications.watchNotifications(WatchNotificationsRequest(resumeToken: resumeToken)) {
      switch message.event {
      case .started:
        let unread = try await notifications.getUnreadCounts(GetUnreadCountsRequest()).unreadCounts?.total ?? 0
        print("\(unread) unread")
      case .change(let change): report(change)
      case nil: break
      }
      resumeToken = message.resumeToken
    }
  } catch let error as RPCError where error.code == .unavailable {
    print("not connected; trying again")
    try await Task.sleep(for: .seconds(1))
  }
}
