import CampanileLodge
import Foundation

extension Example {
  /// Signs a member in, and confirms the member's presence at the next meeting while there is no network.
  func lodge(name: String, pin: String) async throws {
    let session = LodgeSession(FileCredentialStore(path: folder.appendingPathComponent("session").path))
    let member = Campanile(campanile.url, credentials: session.credentials)
    let lodge = LodgeModel(member, session: session, folder: folder, outbox: outbox)
    try await lodge.signIn(name: name, pin: pin)
    print("\(lodge.me?.degree.icon ?? "") \(lodge.me?.name ?? "")")
    if let statistics = lodge.statistics() {
      print("\(statistics.fraction) meetings, \(statistics.percentage) %: \(statistics.level)")
    }
    for summary in lodge.summaries.prefix(3) {
      print("\(summary.degree.icon) \(summary.name): \(summary.statistics?.percentage ?? 0) %")
    }
    guard let meeting = lodge.upcoming.first else { return print("no meeting is planned") }
    // A member without a network decides twice; only the last decision is sent.
    let offline = LodgeModel(
      Campanile(URL(string: "http://127.0.0.1:9") ?? campanile.url, credentials: session.credentials), session: session,
      folder: folder, outbox: outbox)
    offline.confirm(meeting.id, present: false)
    offline.confirm(meeting.id, present: true)
    print("\(meeting.discussion): \(offline.pending.count) confirmation waits")
    try await outbox.sendNow(through: member.caller)
    if let refusal = try outbox.refusals().first { throw refusal.error }
    try await lodge.refresh()
    print("\(meeting.discussion): \(lodge.status(of: meeting.id) == .present ? "present" : "unknown")")
    try await lodge.signOut()
  }
}
