import NIOCore

/// The connections of one event loop, for periodic checks and draining. Used on that loop only.
final class ConnectionRegistry {
  private let loop: any EventLoop
  private let core: ServerCore
  private var connections: [ObjectIdentifier: ServerConnection] = [:]
  private var isCheckScheduled = false
  private(set) var isDraining = false

  init(loop: any EventLoop, core: ServerCore) {
    self.loop = loop
    self.core = core
  }

  func add(_ connection: ServerConnection) {
    connections[ObjectIdentifier(connection)] = connection
    scheduleTimeoutCheck()
  }

  func remove(_ connection: ServerConnection) { connections[ObjectIdentifier(connection)] = nil }

  func drain() {
    isDraining = true
    for connection in connections.values { connection.startDrain() }
  }

  func closeAll() {
    for connection in connections.values { connection.abandon() }
  }

  private func scheduleTimeoutCheck() {
    guard !isCheckScheduled, !connections.isEmpty else { return }
    isCheckScheduled = true
    let bound = NIOLoopBound(self, eventLoop: loop)
    loop.scheduleTask(in: .milliseconds(core.timeoutCheckIntervalMs)) { bound.value.checkTimeouts() }
  }

  private func checkTimeouts() {
    isCheckScheduled = false
    let now = loop.now
    for connection in connections.values { connection.checkTimeouts(now: now) }
    scheduleTimeoutCheck()
  }
}
