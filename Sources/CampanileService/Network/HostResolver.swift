import NIOPosix
import Synchronization

/// Finds the addresses of a host.
public protocol HostResolving: Sendable {
  /// At most sixteen, in the order to try them; none when the host is unknown or the task is cancelled.
  func addresses(of host: String) async -> [IPAddress]
}

/// The resolver of the system, which blocks and so runs on threads of its own.
public struct SystemHostResolver: HostResolving {
  public init() {}

  /// Lookups wait for name servers that others chose: they must not hold up what else runs on shared threads.
  private static let threads: NIOThreadPool = {
    let threads = NIOThreadPool(numberOfThreads: 8)
    threads.start()
    return threads
  }()

  public func addresses(of host: String) async -> [IPAddress] {
    let (answers, continuation) = AsyncStream.makeStream(of: [IPAddress].self, bufferingPolicy: .bufferingOldest(1))
    let wait = Wait()
    continuation.onTermination = { _ in wait.isOver.store(true, ordering: .relaxed) }
    Self.threads.submit { state in
      // Nobody waits any more for what stood in the queue for too long: so the queue cannot grow behind slow name servers.
      if case .active = state, !wait.isOver.load(ordering: .relaxed) {
        continuation.yield(HostLookup.addresses(of: host))
      }
      continuation.finish()
    }
    // A cancelled wait ends at once; the lookup ends when the system gives up.
    for await found in answers { return found }
    return []
  }

  private final class Wait: Sendable {
    let isOver = Atomic(false)
  }
}
