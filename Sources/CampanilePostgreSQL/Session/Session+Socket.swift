import CPostgreSQL
import CampanileStore

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

extension Session {
  /// Whether bytes, or the end of the connection, can be read without waiting.
  var isReadable: Bool {
    var descriptor = pollfd(fd: PQsocket(handle), events: Int16(POLLIN), revents: 0)
    return poll(&descriptor, 1, 0) > 0
  }

  /// Waits until the socket is readable, or also until it is writable, and reads from it.
  ///
  /// - Throws: `unavailable` if the connection has ended, or nothing happens for `silenceMsMax`.
  func waitForSocket(orWritable isSending: Bool) throws(StoreError) {
    let events = isSending ? POLLIN | POLLOUT : POLLIN
    let end = ContinuousClock.now + .milliseconds(silenceMsMax)
    while true {
      var descriptor = pollfd(fd: PQsocket(handle), events: Int16(events), revents: 0)
      let left = (end - ContinuousClock.now) / .milliseconds(1)
      let count = poll(&descriptor, 1, Int32(max(0, left.rounded(.up))))
      if count > 0 { break }
      if count == 0 { throw endSilently() }
      // A signal is no sign of life: the same end applies.
      guard errno == EINTR else { throw self.end("poll failed with error \(errno)") }
    }
    guard PQconsumeInput(handle) == 1 else { throw self.end(message) }
  }
}
