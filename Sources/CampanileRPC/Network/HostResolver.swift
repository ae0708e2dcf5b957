public import CampanileBase
import NIOPosix
import Synchronization

/// Resolves the addresses of a host.
public protocol HostResolving: Sendable {
  /// Returns at most sixteen addresses in the order to try them; none if the host is unknown or the task is cancelled.
  func addresses(of host: String) async -> [IPAddress]
}

/// The system's resolver. It blocks, so it runs on separate threads.
public struct SystemHostResolver: HostResolving {
  public init() {}

  /// Lookups wait for name servers chosen by others and must not block work on shared threads. The threads are several
  /// times as many as the lookups that one user can start concurrently.
  private static let threads: NIOThreadPool = {
    let threads = NIOThreadPool(numberOfThreads: 32)
    threads.start()
    return threads
  }()

  public func addresses(of host: String) async -> [IPAddress] {
    let (answers, continuation) = AsyncStream.makeStream(of: [IPAddress].self, bufferingPolicy: .bufferingOldest(1))
    let wait = Wait()
    continuation.onTermination = { _ in wait.isOver.store(true, ordering: .relaxed) }
    Self.threads.submit { state in
      // Skip lookups whose callers have stopped waiting, so that the queue does not grow behind slow name servers.
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
