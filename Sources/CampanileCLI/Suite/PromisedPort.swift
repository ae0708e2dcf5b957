internal import Foundation

/// A port of 127.0.0.1 that is chosen before the process that is to listen on it starts, so that others can be told of it.
///
/// A connection to the port is made and ended here. For as long as it is remembered (TIME-WAIT, RFC 9293 section 3.6.1)
/// the system gives the port to nobody who asks for any, but to a server that asks for this one.
enum PromisedPort {
  /// Throws `UsageError` when there is none.
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
      // The side that closes first is the one that remembers.
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
