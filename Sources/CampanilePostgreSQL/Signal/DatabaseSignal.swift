import CPostgreSQL
import CampanileStore
import Foundation
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

/// Informs the processes on one database of each other's commits by NOTIFY, on a connection of its own.
///
/// NOTIFY follows the commit, because inside a transaction it would serialise the commits of the whole server. A
/// process that ends in between has announced nothing. So every process looks once a second whether another's
/// connection has ended. It then assumes that everything has changed, as it does after a lost connection of its own.
///
/// A process that is alone announces nothing. When another one appears, it announces that everything has changed.
final class DatabaseSignal: ChangeSignal {
  /// Commits within this time share a notification.
  private static let coalescingMs: Int32 = 5
  private static let pollingMs: Int32 = 1_000
  private static let announceName = "announce"

  private struct State {
    var pending: ChangedNames?
    /// Whether no other process was there at the last look.
    var isAlone = false
    var isClosed = false
  }

  private let opener: SessionOpener
  private let onChange: @Sendable (ChangedNames) -> Void
  private let number = Int64.random(in: 1 ... .max)
  private let state = Mutex(State())
  /// Wakes the thread.
  private let pipe = Pipe()

  init(_ opener: SessionOpener, _ onChange: @escaping @Sendable (ChangedNames) -> Void) {
    self.opener = opener
    self.onChange = onChange
    let thread = Thread { self.run() }
    thread.name = "store-signal"
    thread.stackSize = 1 << 20
    thread.start()
  }

  func announce(_ changes: ChangedNames) {
    if case .some(let names) = changes, names.isEmpty { return }
    let mustWake = state.withLock { state in
      if state.isAlone { return false }
      defer {
        if state.pending == nil {
          state.pending = changes
        } else {
          state.pending?.add(changes, namesMax: Announcement.namesMax)
        }
      }
      return state.pending == nil
    }
    if mustWake { wake() }
  }

  func close() {
    state.withLock { $0.isClosed = true }
    wake()
  }

  private var isClosed: Bool { state.withLock { $0.isClosed } }

  private func wake() { try? pipe.fileHandleForWriting.write(contentsOf: [1]) }

  private func run() {
    var isFirst = true
    while !isClosed {
      do {
        let session = try opener.open(.signal)
        defer { session.finish() }
        var channel = ""
        try session.ask("SELECT 'campanile_' || md5(current_schema())") { channel = try $0.text(0) }
        try session.ask("LISTEN \(channel)") { _ in }
        // Whatever was announced in the meantime is lost.
        if !isFirst { onChange(.all) }
        isFirst = false
        try serve(session, channel)
      } catch {
        wait(nil, Self.pollingMs)
      }
    }
  }

  /// Sends and receives until the signal is closed.
  private func serve(_ session: Session, _ channel: String) throws {
    let parameters = ParameterBuffer()
    try session.ask("SET application_name = '\(channel)'") { _ in }
    try session.prepare(Self.announceName, "SELECT pg_notify($1, $2)")
    // Announces what was not announced before the connection, if another process is there.
    var others: Set<Int64> = []
    try look(session, channel, &others)
    var nextPoll = ContinuousClock.now + .milliseconds(Self.pollingMs)
    while !isClosed {
      let left = Int32(clamping: Int64((nextPoll - ContinuousClock.now) / .milliseconds(1)))
      wait(session, max(0, left))
      guard session.isAlive() else { throw session.lost ?? StoreError(.unavailable, "the connection has ended") }
      receive(session)
      if try send(session, channel, parameters) {
        receive(session)
        // Later commits share the next notification.
        wait(session, Self.coalescingMs, orWoken: false)
      }
      guard ContinuousClock.now >= nextPoll else { continue }
      nextPoll = ContinuousClock.now + .milliseconds(Self.pollingMs)
      try look(session, channel, &others)
    }
  }

  /// Looks which other processes there are.
  ///
  /// - Parameter others: The server's processes for their signals at the last look.
  private func look(_ session: Session, _ channel: String, _ others: inout Set<Int64>) throws {
    var present: Set<Int64> = []
    let sql = """
      SELECT pid FROM pg_stat_activity
      WHERE application_name = '\(channel)' AND datname = current_database() AND pid <> pg_backend_pid()
      """
    try session.ask(sql) { present.insert(try $0.integer(0)) }
    state.withLock { $0.isAlone = present.isEmpty }
    if !others.isSubset(of: present) { onChange(.all) }
    if !present.isSubset(of: others) { announce(.all) }
    others = present
  }

  /// Returns whether there was anything to send.
  private func send(_ session: Session, _ channel: String, _ parameters: ParameterBuffer) throws -> Bool {
    let pending = state.withLock { state in
      defer { state.pending = nil }
      return state.pending
    }
    guard let pending else { return false }
    do {
      let payload = Announcement(sender: number, changes: pending).payload
      try parameters.fill([.text(channel), .text(payload)], [.text, .text])
      try session.send(Command(kind: .statement), Self.announceName, parameters)
      try session.waitForAll()
      if let failure = session.takeFailure() { throw failure.error }
    } catch {
      // Announced again after the reconnection.
      announce(pending)
      throw error
    }
    return true
  }

  private func receive(_ session: Session) {
    while let notification = PQnotifies(session.handle) {
      defer { PQfreemem(notification) }
      guard let text = notification.pointee.extra, let announcement = Announcement(String(cString: text)),
        announcement.sender != number
      else { continue }
      onChange(announcement.changes)
    }
  }

  /// Waits until a notification arrives, or this process has something to announce.
  private func wait(_ session: Session?, _ limitMs: Int32, orWoken: Bool = true) {
    let reader = pipe.fileHandleForReading.fileDescriptor
    var descriptors = [pollfd(fd: orWoken ? reader : -1, events: Int16(POLLIN), revents: 0)]
    if let session { descriptors.append(pollfd(fd: PQsocket(session.handle), events: Int16(POLLIN), revents: 0)) }
    _ = poll(&descriptors, nfds_t(descriptors.count), limitMs)
    guard descriptors[0].revents != 0 else { return }
    var bytes = [UInt8](repeating: 0, count: 64)
    _ = read(reader, &bytes, bytes.count)
  }
}
