import NIOCore

/// The HTTP connections of one event loop, swept once a second. Used on that loop only.
final class HTTPConnections {
  static let sweepMs: Int64 = 1000
  private let loop: any EventLoop
  private let sweepMs: Int64
  private var connections: [ObjectIdentifier: HTTPConnection] = [:]
  private var isSweeping = false
  private var unflushed: [HTTPConnection] = []
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

  /// Lets a connection flush when the loop has handled what it has read: a backend's answers come many at a time, and a caller that
  /// is woken in between takes the processor from the rest of them.
  func flushSoon(_ connection: HTTPConnection) {
    unflushed.append(connection)
    guard unflushed.count == 1 else { return }
    let bound = NIOLoopBound(self, eventLoop: loop)
    loop.execute { bound.value.flush() }
  }

  private func flush() {
    let waiting = unflushed
    unflushed = []
    for connection in waiting { connection.flushNow() }
  }

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
