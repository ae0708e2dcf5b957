import Foundation
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

/// A proxy on loopback in front of a server that cuts or holds a connection after a number of bytes.
public final class FaultyProxy: Sendable {
  public enum Direction: Sendable {
    case toServer, toClient
  }

  public enum Fault: Sendable {
    /// Closes both sides.
    case cut
    /// Forwards nothing more in this direction until `release`.
    case hold
  }

  private struct PlannedFault {
    var fault: Fault
    var direction: Direction
    var bytesLeft: Int
    /// The first connection that it concerns.
    var connectionMin = 0
  }

  private struct State {
    var planned: [PlannedFault] = []
    var faults = 0
    var connections = 0
  }

  public let port: Int
  private let serverPort: Int
  private let listener: Int32
  private let state = Mutex(State())
  private let released = DispatchSemaphore(value: 0)

  public init(to serverPort: Int) throws {
    self.serverPort = serverPort
    (listener, port) = try Loopback.listen()
    Thread.detachNewThread { [listener, weak self] in
      while true {
        let client = accept(listener, nil, nil)
        guard client >= 0 else { return }
        _ = fcntl(client, F_SETFD, FD_CLOEXEC)
        self?.serve(client)
      }
    }
  }

  /// Stops listening. Connections that are open stay.
  public func close() { shutdown(listener, Int32(SHUT_RDWR)) }

  /// Lets the next connection that carries these bytes fail, once.
  ///
  /// - Parameter second: A cut of a connection that is opened after this fault.
  public func fail(
    _ fault: Fault, _ direction: Direction, afterBytes count: Int, thenCut second: (Direction, afterBytes: Int)? = nil
  ) {
    var planned = [PlannedFault(fault: fault, direction: direction, bytesLeft: count)]
    if let second { planned.append(PlannedFault(fault: .cut, direction: second.0, bytesLeft: second.afterBytes)) }
    state.withLock { $0.planned = planned }
  }

  public func disarm() { state.withLock { $0.planned = [] } }

  /// Number of faults so far.
  public var faults: Int { state.withLock { $0.faults } }

  /// Forwards what was held.
  public func release() { released.signal() }

  private func serve(_ client: Int32) {
    guard let server = Loopback.connect(serverPort) else {
      _ = Glibc.close(client)
      return
    }
    Loopback.sendAtOnce(client)
    Loopback.sendAtOnce(server)
    let number = state.withLock { state in
      defer { state.connections += 1 }
      return state.connections
    }
    let remaining = Descriptors(number, client, server)
    Thread.detachNewThread { self.forward(client, server, .toServer, remaining) }
    Thread.detachNewThread { self.forward(server, client, .toClient, remaining) }
  }

  private func forward(_ source: Int32, _ target: Int32, _ direction: Direction, _ both: Descriptors) {
    defer { both.release() }
    var buffer = [UInt8](repeating: 0, count: 16 << 10)
    while true {
      let count = read(source, &buffer, buffer.count)
      guard count > 0 else { break }
      let (first, fault) = split(count, direction, both.number)
      _ = Loopback.writeAll(target, buffer[..<first])
      switch fault {
      case .cut: return both.shutDown()
      case .hold: released.wait()
      case nil: break
      }
      // A client that is gone must not stop what the server still reads.
      _ = Loopback.writeAll(target, buffer[first..<count])
    }
    shutdown(target, Int32(SHUT_WR))
  }

  /// Returns the number of bytes to forward, and the fault that follows them.
  private func split(_ count: Int, _ direction: Direction, _ connection: Int) -> (Int, Fault?) {
    state.withLock { state in
      guard let next = state.planned.first, next.direction == direction, connection >= next.connectionMin else {
        return (count, nil)
      }
      guard count > next.bytesLeft else {
        state.planned[0].bytesLeft -= count
        return (count, nil)
      }
      state.planned.removeFirst()
      if !state.planned.isEmpty { state.planned[0].connectionMin = state.connections }
      state.faults += 1
      return (next.bytesLeft, next.fault)
    }
  }
}

/// The two sockets of a connection, closed after the last of two users.
private final class Descriptors: Sendable {
  /// The number of the connection.
  let number: Int
  private let sockets: [Int32]
  private let users = Atomic(2)

  init(_ number: Int, _ first: Int32, _ second: Int32) {
    self.number = number
    sockets = [first, second]
  }

  func shutDown() { for socket in sockets { shutdown(socket, Int32(SHUT_RDWR)) } }

  func release() {
    guard users.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 else { return }
    for socket in sockets { _ = close(socket) }
  }
}

/// Sockets on the loopback address.
enum Loopback {
  static func listen() throws -> (descriptor: Int32, port: Int) {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = address(0)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isReady = withSocketAddress(&address) { pointer in
      bind(descriptor, pointer, length) == 0 && Glibc.listen(descriptor, 64) == 0
        && getsockname(descriptor, pointer, &length) == 0
    }
    guard isReady else { throw PostgreSQLCluster.Failure(description: "no free port") }
    return (descriptor, Int(UInt16(bigEndian: address.sin_port)))
  }

  static func connect(_ port: Int) -> Int32? {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = address(port)
    let isConnected = withSocketAddress(&address) {
      Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
    }
    if isConnected { return descriptor }
    close(descriptor)
    return nil
  }

  /// Sends short messages without waiting for the acknowledgement of earlier ones.
  static func sendAtOnce(_ descriptor: Int32) {
    var isOn: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, socklen_t(MemoryLayout<Int32>.size))
  }

  static func writeAll(_ descriptor: Int32, _ bytes: ArraySlice<UInt8>) -> Bool {
    var rest = bytes
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  private static func address(_ port: Int) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return address
  }

  private static func withSocketAddress<T>(
    _ address: inout sockaddr_in, _ body: (UnsafeMutablePointer<sockaddr>) -> T
  ) -> T {
    withUnsafeMutablePointer(to: &address) { $0.withMemoryRebound(to: sockaddr.self, capacity: 1, body) }
  }
}
