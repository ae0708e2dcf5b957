#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Limits the connections of a process so that file descriptors remain for its files and outgoing calls.
///
/// Without a free descriptor, a service cannot write files, and libdispatch ends the process if it cannot open `/proc`.
/// Once the limit is reached, further RPC connections are refused, and HTTP connections wait in the backlog.
struct DescriptorBudget: Sendable, Hashable {
  /// Maximum number of RPC connections.
  let rpcConnections: Int
  /// Maximum number of HTTP connections; 0 without a public HTTP server.
  let httpConnections: Int
  /// Whether fewer connections fit than are configured.
  let isShort: Bool

  /// Descriptors reserved for databases, contents, connections to other services, and event loops.
  static let reserve = 256

  /// Divides the descriptors between RPC and HTTP connections.
  ///
  /// If both do not fit, RPC has a share of two thirds and HTTP of one third. Each may use what the other leaves free.
  ///
  /// - Parameters:
  ///   - limit: The process's limit of descriptors. At most half of them are reserved.
  ///   - rpc: The configured maximum number of RPC connections.
  ///   - http: The configured maximum number of HTTP connections.
  init(limit: Int, rpc: Int, http: Int) {
    let free = max(16, limit - min(Self.reserve, limit / 2))
    isShort = rpc > free || http > free - rpc
    if !isShort {
      (rpcConnections, httpConnections) = (rpc, http)
    } else {
      let forHTTP = min(http, max(free / 3, free - min(rpc, free)))
      (rpcConnections, httpConnections) = (min(rpc, free - forHTTP), forHTTP)
    }
  }

  /// Raises the process's soft limit of descriptors to the hard limit.
  ///
  /// - Returns: The limit now in effect.
  static func raiseLimit() -> Int {
    var limit = rlimit()
    #if canImport(Glibc)
      let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
      let resource = RLIMIT_NOFILE
    #endif
    guard getrlimit(resource, &limit) == 0 else { return 1024 }
    if limit.rlim_cur < limit.rlim_max {
      var raised = limit
      raised.rlim_cur = limit.rlim_max
      if setrlimit(resource, &raised) == 0 { limit = raised }
    }
    return Int(clamping: min(limit.rlim_cur, 1 << 30))
  }
}
