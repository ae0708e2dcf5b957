import NIOCore

/// The HTTP connections of one event loop, checked for timeouts once a second. Confined to that loop.
final class HTTPConnections {
  static let timeoutCheckIntervalMs: Int64 = 1000
  private let loop: any EventLoop
  private let timeoutCheckIntervalMs: Int64
  private var connections: [ObjectIdentifier: HTTPConnection] = [:]
  private var isCheckScheduled = false
  private var unflushed: [HTTPConnection] = []

  init(loop: any EventLoop, timeoutCheckIntervalMs: Int64) {
    self.loop = loop
    self.timeoutCheckIntervalMs = timeoutCheckIntervalMs
  }

  func add(_ connection: HTTPConnection) {
    connections[ObjectIdentifier(connection)] = connection
    scheduleTimeoutCheck()
  }

  func remove(_ connection: HTTPConnection) { connections[ObjectIdentifier(connection)] = nil }

  /// Flushes a connection after the loop has handled everything it has read. Backend replies arrive in batches; a
  /// caller woken in the middle of one would compete for the processor.
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

  private func scheduleTimeoutCheck() {
    guard !isCheckScheduled, !connections.isEmpty else { return }
    isCheckScheduled = true
    let bound = NIOLoopBound(self, eventLoop: loop)
    loop.scheduleTask(in: .milliseconds(timeoutCheckIntervalMs)) { bound.value.checkTimeouts() }
  }

  private func checkTimeouts() {
    isCheckScheduled = false
    let now = NIODeadline.now()
    for connection in Array(connections.values) { connection.checkTimeouts(now: now) }
    scheduleTimeoutCheck()
  }
}
