import CampanileAPI
import CampanileBase
import CampanileRPC
import CampanileService

/// A device that watches a user's notifications, and resumes whenever the watch ends.
///
/// `@unchecked Sendable`: see `SimulatedLoop`.
final class Watcher: @unchecked Sendable {
  let user: String
  private let world: World
  private let client: NotificationsServiceClient
  private var last: String
  /// The position at which the first watch started.
  private(set) var start: String?
  /// The log positions of all received events.
  private(set) var seen: [Int64] = []
  private(set) var watchCount = 0
  private var task: Task<Void, Never>?
  private var isOver = false

  init(_ user: String, _ world: World, _ client: RPCClient, from start: String = "") {
    (self.user, self.world, last) = (user, world, start)
    self.client = NotificationsServiceClient(client)
  }

  func begin() {
    task = Task(executorPreference: world.executor) { [self] in
      while !isOver {
        await watch()
        if !isOver { await world.sleep(ms: 15) }
      }
    }
  }

  func end() {
    isOver = true
    task?.cancel()
  }

  private func watch() async {
    watchCount += 1
    let request = WatchNotificationsRequest(resumeToken: last)
    let options = CallOptions(metadata: [Principal.metadataKey: "user/\(user)"])
    do {
      for try await response in client.watchNotifications(request, options: options) {
        last = response.resumeToken
        if case .started = response.event {
          if start == nil { start = response.resumeToken }
        } else {
          took(response.resumeToken)
          world.saw("event \(user) \(seen.count)")
        }
      }
    } catch {
      let code = error.code
      let isUsual = isOver || code == .unavailable || code == .resourceExhausted || code == .cancelled
      world.check(isUsual, "the watch of \(user) ended with \(error)")
    }
  }

  private func took(_ token: String) {
    let place = (try? ResumeToken(token, user: user))?.sequence ?? -1
    world.check(place > seen.last ?? 0, "the watch of \(user) received event \(place) after \(seen.last ?? 0)")
    seen.append(place)
  }

  /// Checks that no event is missing which `fresh` has read from the log after all faults had ended. `fresh` reads
  /// fewer events: for notifications deleted since, it receives only the deletion.
  func verify(against fresh: Watcher) {
    let missing = Set(fresh.seen).subtracting(seen).sorted()
    world.check(missing.isEmpty, "the watch of \(user) missed the events \(missing)")
    world.check(seen.last == fresh.seen.last, "the watch of \(user) and the log end at different positions")
  }
}
