import CampanileAPI
import CampanileRPC
import CampanileService

/// A device that watches a person's notifications, and goes on where it was whenever the watch ends.
///
/// `@unchecked Sendable`: see `SimulatedLoop`.
final class Watcher: @unchecked Sendable {
  let user: String
  private let world: World
  private let client: NotificationsServiceClient
  private var last: String
  /// Where the first watch began.
  private(set) var start: String?
  /// The places in the log of all events that came.
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
    var request = WatchNotificationsRequest()
    request.resumeToken = last
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
      world.check(isUsual, "the watch of \(user) has ended with \(error)")
    }
  }

  private func took(_ token: String) {
    let place = (try? ResumeToken(token, user: user))?.sequence ?? -1
    world.check(place > seen.last ?? 0, "the watch of \(user) saw event \(place) after \(seen.last ?? 0)")
    seen.append(place)
  }

  /// Nothing that `fresh` has read, which looked at the log when nothing was amiss, may be missing. It reads less: of what was
  /// deleted since, it is told only that.
  func verify(against fresh: Watcher) {
    let missing = Set(fresh.seen).subtracting(seen).sorted()
    world.check(missing.isEmpty, "the watch of \(user) never saw the events \(missing)")
    world.check(seen.last == fresh.seen.last, "the watch of \(user) stands at another place than the log")
  }
}
