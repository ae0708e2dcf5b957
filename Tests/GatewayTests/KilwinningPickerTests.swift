import CampanileBase
import CampanileCodec
import CampanileRPC
import Synchronization
import TestSupport
import Testing

@testable import Gateway
@testable import GatewayDialects
@testable import GatewayHTTP

/// Caching of the list of names that is shown before a login.
@Suite struct KilwinningPickerTests {
  private final class Source: Sendable {
    let count = Atomic<Int>(0)
    let isFailing = Atomic<Bool>(false)

    func make() async -> Result<DialectAnswer, RPCError> {
      let number = count.wrappingAdd(1, ordering: .relaxed).newValue
      await Task.yield()
      if isFailing.load(ordering: .relaxed) { return .failure(RPCError(.unavailable, "gone", reason: "GONE")) }
      return .success(DialectAnswer(200, .integer(Int64(number))))
    }
  }

  private static func ask(_ picker: KilwinningPicker, _ source: Source) async throws(RPCError) -> String {
    String(decoding: try await picker.answer { await source.make() }.body, as: UTF8.self)
  }

  @Test func listIsCachedForItsMaximumAge() async throws {
    let clock = TestClock(1_000_000)
    let source = Source()
    let picker = KilwinningPicker(nowMs: { clock.nowMs })
    #expect(try await Self.ask(picker, source) == "1")
    clock.nowMs += KilwinningPicker.ageMaxMs - 1
    #expect(try await Self.ask(picker, source) == "1")
    clock.nowMs += 1
    #expect(try await Self.ask(picker, source) == "2")
    // Setting the clock back invalidates the cache.
    clock.nowMs -= 3_600_000
    #expect(try await Self.ask(picker, source) == "3")
  }

  @Test func concurrentRequestsShareOneBuild() async throws {
    let source = Source()
    let picker = KilwinningPicker(nowMs: { 0 })
    let answers = try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<100 { group.addTask { try await Self.ask(picker, source) } }
      return try await group.reduce(into: Set<String>()) { $0.insert($1) }
    }
    #expect(answers == ["1"] && source.count.load(ordering: .relaxed) == 1)
  }

  @Test func errorsAreNotCached() async throws {
    let source = Source()
    let picker = KilwinningPicker(nowMs: { 0 })
    source.isFailing.store(true, ordering: .relaxed)
    await #expect(throws: RPCError.self) { try await Self.ask(picker, source) }
    source.isFailing.store(false, ordering: .relaxed)
    #expect(try await Self.ask(picker, source) == "2")
  }
}
