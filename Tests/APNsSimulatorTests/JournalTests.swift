import APNs
import Foundation
import Synchronization
import Testing

@testable import APNsSimulator

@Suite struct JournalTests {
  private func path() -> String {
    FileManager.default.temporaryDirectory.appendingPathComponent("journal-\(UUID().uuidString)").path
  }

  @Test func restartedSimulatorRestoresScreens() throws {
    let path = path()
    defer { try? FileManager.default.removeItem(atPath: path) }
    let first = try Bench()
    first.simulator.resume(try Journal(path: path, sizeBytesMax: 1 << 20))
    _ = try first.push(first.update(#"{"n":"è\n"}"#, at: 5))
    _ = try first.push(first.update("{}", at: 4))
    _ = try first.push("no JSON \u{0}", to: "aa")
    let expected = first.simulator.state.withLock { $0.screens }
    let second = try Bench()
    second.simulator.resume(try Journal(path: path, sizeBytesMax: 1 << 20))
    #expect(second.simulator.state.withLock { $0.screens } == expected)
    // The journal continues where the first simulator ended.
    _ = try second.push(second.update(#"{"n":6}"#, at: 6))
    let third = try Bench()
    third.simulator.resume(try Journal(path: path, sizeBytesMax: 1 << 20))
    #expect(third.screen()?.contentState == #"{"n":6}"#)
    #expect(third.screen()?.discards == [.oldTimestamp: 1])
  }

  @Test func resetSurvivesARestart() throws {
    let path = path()
    defer { try? FileManager.default.removeItem(atPath: path) }
    let first = try Bench()
    first.simulator.resume(try Journal(path: path, sizeBytesMax: 1 << 20))
    _ = try first.push(first.update("{}", at: 5))
    first.simulator.reset()
    _ = try first.push(first.update(#"{"n":1}"#, at: 2), to: "aa")
    let second = try Bench()
    second.simulator.resume(try Journal(path: path, sizeBytesMax: 1 << 20))
    #expect(second.screen() == nil && second.screen("aa")?.contentState == #"{"n":1}"#)
  }

  @Test func damagedLinesAreSkipped() throws {
    let path = path()
    defer { try? FileManager.default.removeItem(atPath: path) }
    let lines = ["", "nonsense", #"{"key":"aa"}"#, #"{"key":5}"#, String(repeating: "x", count: 100_000), "{"]
    try lines.joined(separator: "\n").write(toFile: path, atomically: true, encoding: .utf8)
    let bench = try Bench()
    bench.simulator.resume(try Journal(path: path, sizeBytesMax: 1 << 20))
    #expect(bench.simulator.state.withLock { $0.screens.isEmpty })
  }

  @Test func fullJournalEndsWithAFailureMessage() throws {
    let path = path()
    defer { try? FileManager.default.removeItem(atPath: path) }
    let bench = try Bench()
    bench.simulator.resume(try Journal(path: path, sizeBytesMax: 400))
    for number in 1...5 { _ = try bench.push(bench.update("{}", at: Int64(number))) }
    #expect(bench.simulator.state.withLock { $0.journal?.failure?.contains("400") } == true)
    #expect(bench.screen()?.updates == 5)
    let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
    #expect((size ?? 0) <= 400)
  }

  @Test func unusablePathThrows() {
    #expect(throws: JournalError.self) { try Journal(path: "/proc/nowhere/journal", sizeBytesMax: 1) }
  }
}
