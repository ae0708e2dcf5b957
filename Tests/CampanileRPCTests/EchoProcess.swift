import Foundation
import Testing

/// A `campanile-echo` process.
final class EchoProcess {
  static let token = "internal-token-of-the-outage-tests"

  let host: String
  private(set) var port = 0
  private let folder: URL
  private let launcher: [String]
  private var process = Process()

  /// Starts the process and waits until it listens. `launcher` is a command prefix that starts another command.
  init(host: String = "127.0.0.1", launcher: [String] = []) async throws {
    self.host = host
    self.launcher = launcher
    folder = FileManager.default.temporaryDirectory.appending(path: "outage-tests-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try await start()
  }

  /// Restarts the process on the same port.
  func start() async throws {
    let tests = URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent()
    let ready = folder.appending(path: "ready")
    try? FileManager.default.removeItem(at: ready)
    process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments =
      launcher + [
        tests.appending(path: "campanile-echo").path, "--host", host, "--insecure-plaintext", "--port", String(port),
        "--http-enabled=false", "--ready-file", ready.path, "--log-level", "error",
      ]
    process.environment = ["CAMPANILE_INTERNAL_TOKEN": Self.token, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"]
    try process.run()
    while true {
      if let data = try? Data(contentsOf: ready),
        let announced = try? JSONSerialization.jsonObject(with: data) as? [String: Any],
        let bound = announced["rpc"] as? Int
      {
        port = bound
        return
      }
      try #require(process.isRunning)
      try await Task.sleep(for: .milliseconds(10))
    }
  }

  /// Suspends the process with SIGSTOP and waits until all of its threads have stopped.
  func freeze() async throws {
    signal(SIGSTOP)
    let tasks = URL(filePath: "/proc/\(process.processIdentifier)/task")
    while true {
      let states = try FileManager.default.contentsOfDirectory(atPath: tasks.path).map { thread in
        // The state follows the name, which is in parentheses.
        let text = try String(contentsOf: tasks.appending(path: "\(thread)/stat"), encoding: .utf8)
        return text.split(separator: ") ").last?.first
      }
      if states.allSatisfy({ $0 == "T" }) { return }
      try await Task.sleep(for: .milliseconds(5))
    }
  }

  func signal(_ number: Int32) { kill(process.processIdentifier, number) }

  /// Kills the process and waits until it has exited.
  func end() {
    if process.isRunning { signal(SIGKILL) }
    process.waitUntilExit()
  }

  deinit {
    end()
    try? FileManager.default.removeItem(at: folder)
  }
}

/// A network namespace with a link to this one, which can be cut so that every packet is lost silently.
final class TestNetwork {
  let here: String
  let there: String
  private let name: String
  private let outer: String
  private let inner: String

  /// Whether this process may create a namespace: requires CAP_SYS_ADMIN, CAP_NET_ADMIN and `ip` of iproute2.
  static let isAllowed: Bool = {
    let probe = "campanile-probe-\(ProcessInfo.processInfo.processIdentifier)"
    guard (try? run("netns", "add", probe)) != nil else { return false }
    defer { try? run("netns", "del", probe) }
    return (try? run("-n", probe, "link", "add", "probe0", "type", "veth", "peer", "name", "probe1")) != nil
  }()

  init() throws {
    let id = Int(ProcessInfo.processInfo.processIdentifier)
    name = "campanile-\(id)"
    outer = "cmp\(id)o"
    inner = "cmp\(id)i"
    // A /30 of the block reserved for benchmarks (RFC 2544), which no network uses.
    let block = "198.18.\(id / 64 % 256)"
    here = "\(block).\(id % 64 * 4 + 1)"
    there = "\(block).\(id % 64 * 4 + 2)"
    try Self.run("netns", "add", name)
    try Self.run("link", "add", outer, "type", "veth", "peer", "name", inner, "netns", name)
    try Self.run("addr", "add", "\(here)/30", "dev", outer)
    try Self.run("-n", name, "addr", "add", "\(there)/30", "dev", inner)
    try Self.run("link", "set", outer, "up")
    try Self.run("-n", name, "link", "set", inner, "up")
  }

  /// The command prefix that starts a command in the namespace.
  var launcher: [String] { ["ip", "netns", "exec", name] }

  /// Sends the packets of both directions to a link-layer address that no interface has, so that they are lost.
  func cut() throws {
    try Self.run("neigh", "replace", there, "lladdr", "02:00:00:00:00:01", "dev", outer, "nud", "permanent")
    try Self.run("-n", name, "neigh", "replace", here, "lladdr", "02:00:00:00:00:02", "dev", inner, "nud", "permanent")
  }

  func mend() throws {
    try Self.run("neigh", "del", there, "dev", outer)
    try Self.run("-n", name, "neigh", "del", here, "dev", inner)
  }

  deinit {
    try? Self.run("link", "del", outer)
    try? Self.run("netns", "del", name)
  }

  private static func run(_ arguments: String...) throws {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = ["ip"] + arguments
    process.environment = ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"]
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw CocoaError(.executableLoad) }
  }
}
