import NIOPosix

/// Runs work on whole documents, which takes memory and time: few at once, on threads of their own. More wait.
final class DocumentWorker: Sendable {
  private let threads: NIOThreadPool

  init(atOnceMax: Int) {
    threads = NIOThreadPool(numberOfThreads: max(1, atOnceMax))
    threads.start()
  }

  func close() async { try? await threads.shutdownGracefully() }

  func run<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
    try await threads.runIfActive(body)
  }
}
