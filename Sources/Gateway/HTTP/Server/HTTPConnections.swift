import NIOCore

/// The HTTP connections of one event loop, swept once a second. Used on that loop only.
final class HTTPConnections {
  static let sweepMs: Int64 = 1000
  private let loop: any EventLoop
  private let sweepMs: Int64
  private var connections: [ObjectIdentifier: HTTPConnection] = [:]
  private var isSweeping = false
  /// Bytes of bodies that are being read.
  var readingBytes = 0

  init(loop: any EventLoop, sweepMs: Int64) {
    self.loop = loop
    self.sweepMs = sweepMs
  }

  func add(_ connection: HTTPConnection) {
    connections[ObjectIdentifier(connection)] = connection
    scheduleSweep()
  }

  func remove(_ connection: HTTPConnection) { connections[ObjectIdentifier(connection)] = nil }

  private func scheduleSweep() {
    guard !isSweeping, !connections.isEmpty else { return }
    isSweeping = true
    let bound = NIOLoopBound(self, eventLoop: loop)
    loop.scheduleTask(in: .milliseconds(sweepMs)) { bound.value.sweep() }
  }

  private func sweep() {
    isSweeping = false
    let now = NIODeadline.now()
    for connection in Array(connections.values) { connection.sweep(now: now) }
    scheduleSweep()
  }
}
