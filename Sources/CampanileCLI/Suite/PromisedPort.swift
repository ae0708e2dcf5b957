internal import Foundation

/// A port of 127.0.0.1 that is reserved before its process starts, so that other processes can be configured with it.
///
/// A connection to the port is opened and closed, which leaves it in TIME-WAIT (RFC 9293 section 3.6.1). In that state,
/// the system does not assign the port to sockets that ask for any port. A server can still ask for this port.
enum PromisedPort {
  /// Reserves a port.
  ///
  /// - Throws: `UsageError` if no port is free.
  static func pick() throws(UsageError) -> Int {
    var yes: Int32 = 1
    let listener = makeSocket()
    defer { close(listener) }
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withSocketAddress(&address) { pointer in
      bind(listener, pointer, size) == 0 && listen(listener, 1) == 0 && getsockname(listener, pointer, &size) == 0
    }
    guard isBound else { throw UsageError("no free port: \(String(cString: strerror(errno)))") }
    let caller = makeSocket()
    if withSocketAddress(&address, { connect(caller, $0, size) }) == 0 {
      // The side that closes first enters TIME-WAIT.
      close(accept(listener, nil, nil))
    }
    close(caller)
    return Int(UInt16(bigEndian: address.sin_port))
  }

  private static func makeSocket() -> Int32 {
    #if canImport(Glibc)
      socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    #else
      socket(AF_INET, SOCK_STREAM, 0)
    #endif
  }

  private static func withSocketAddress<T>(
    _ address: inout sockaddr_in, _ body: (UnsafeMutablePointer<sockaddr>) -> T
  ) -> T {
    withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0) }
    }
  }
}
