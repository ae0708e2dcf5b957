import NIOCore

/// The connections of one event loop, for sweeping and draining. Used on that loop only.
final class ConnectionRegistry {
  private let loop: any EventLoop
  private let core: ServerCore
  private var connections: [ObjectIdentifier: ServerConnection] = [:]
  private var isSweeping = false
  private(set) var isDraining = false

  init(loop: any EventLoop, core: ServerCore) {
    self.loop = loop
    self.core = core
  }

  func add(_ connection: ServerConnection) {
    connections[ObjectIdentifier(connection)] = connection
    scheduleSweep()
  }

  func remove(_ connection: ServerConnection) { connections[ObjectIdentifier(connection)] = nil }

  func drain() {
    isDraining = true
    for connection in connections.values { connection.startDrain() }
  }

  func closeAll() {
    for connection in connections.values { connection.abandon() }
  }

  private func scheduleSweep() {
    guard !isSweeping, !connections.isEmpty else { return }
    isSweeping = true
    let bound = NIOLoopBound(self, eventLoop: loop)
    loop.scheduleTask(in: .milliseconds(core.sweepIntervalMs)) { bound.value.sweep() }
  }

  private func sweep() {
    isSweeping = false
    let now = loop.now
    for connection in connections.values { connection.sweep(now: now) }
    scheduleSweep()
  }
}
