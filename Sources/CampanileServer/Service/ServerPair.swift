/// Two servers of one process, which start and end together. The port of the first one is announced.
struct ServerPair: DrainableServer {
  let first: any DrainableServer
  let second: any DrainableServer
  let onSecondRunning: @Sendable (Int) -> Void

  func start() async throws -> Int {
    let port = try await first.start()
    do {
      onSecondRunning(try await second.start())
    } catch {
      await first.shutdown()
      throw error
    }
    return port
  }

  func drain(timeoutMs: Int64) async -> Bool {
    async let isFirstDrained = first.drain(timeoutMs: timeoutMs)
    let isSecondDrained = await second.drain(timeoutMs: timeoutMs)
    return await isFirstDrained && isSecondDrained
  }

  func shutdown() async {
    await second.shutdown()
    await first.shutdown()
  }
}
