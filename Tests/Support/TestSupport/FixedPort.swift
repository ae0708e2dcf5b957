import Synchronization

private let lastPort = Atomic(Int.random(in: 10_000..<30_000))

/// Returns a port for a server that stops and starts again. Systems give connections ports above 32,768 (Linux) or
/// 49,152 (macOS), so that none takes this one while the server is down.
package func fixedPort() -> Int { lastPort.wrappingAdd(1, ordering: .relaxed).newValue }
