import CampanileAttendance
import CampanileNotifications
import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// The same app with two services: calls, a watch, an outbox and a stored credential.
struct Item: Codable {
  var id: String
  var title: String
}

let task = URLSession.shared.dataTask(with: URL(string: CommandLine.arguments.last ?? "")!) { data, _, error in
  let items = try? JSONDecoder().decode([Item].self, from: data ?? Data())
  print(items?.first?.title ?? "\(String(describing: error))")
}
task.resume()

let store = FileCredentialStore(path: "credential")
let campanile = Campanile(
  URL(string: CommandLine.arguments.last ?? "")!, credentials: StoredCredentials(store) { stale in stale })
let outbox = Outbox(path: "outbox")
try outbox.add(
  NotificationsServiceMethods.markNotificationsRead, MarkNotificationsReadRequest(notificationIds: ["n_1"]),
  object: "n_1")
try outbox.add(
  AttendanceServiceMethods.confirmAttendance, ConfirmAttendanceRequest(meetingId: "t_1", status: .present),
  object: "t_1")
for try await event in campanile.notifications.watch() {
  switch event {
  case .started:
    print(try await campanile.notifications.service.listNotifications(.init(unreadOnly: true)).notifications.count)
    print(try await campanile.attendance.meetings.listUpcomingMeetings(.init()).meetings.count)
    try await outbox.sendNow(through: campanile.caller)
  case .change(let change, _): print(change)
  case .gap, .reached, .waiting: break
  }
}
