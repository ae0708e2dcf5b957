#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// How many connections a process may have so that descriptors are left for files and calls of its own.
///
/// Without a free descriptor a service can write no file, and libdispatch ends the process when it cannot look into `/proc`. So
/// connections stop before that: who comes later is refused, or waits in the backlog over HTTP.
struct DescriptorBudget: Sendable, Hashable {
  /// For framed calls.
  let rpcConnections: Int
  /// For HTTP; 0 where there is no front end.
  let httpConnections: Int
  /// Whether less is left than was asked for.
  let isShort: Bool

  /// Descriptors that connections leave free: databases, contents, connections to other services, event loops.
  static let reserve = 256

  /// Divides the descriptors that the process may have.
  ///
  /// - Parameters:
  ///   - limit: how many it may have in all. Of few, half are kept free.
  ///   - rpc, http: how many connections are asked for. Where both do not fit, framed calls get two thirds.
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

  /// Raises the process's limit to what the system lets it have, and answers it.
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
