import CampanileBase
import Sync
import Testing

@Suite struct ByteDeltaTests {
  private func roundTrip(_ base: [UInt8], _ target: [UInt8]) throws -> Int {
    let delta = try #require(ByteDelta.encode(from: base, to: target))
    #expect(try ByteDelta.decode(delta, base: base) == target)
    return delta.count
  }

  /// A typical exported file: 150 notifications, about 150 KB.
  private static func notifications(readAt: [Int: String] = [:], without: Set<Int> = [], first: Int = 0) -> [UInt8] {
    var random = SplitMix64(seed: 3)
    let records = (0..<150).map { index in
      let id = "\(random.next())-\(random.next())"
      let words = (0..<60).map { _ in "word\(random.below(5000))" }.joined(separator: " ")
      let read = readAt[index].map { ",\"readAt\":\"\($0)\"" } ?? ""
      return
        "{\"id\":\"\(id)\",\"title\":\"Title \(index)\",\"body\":\"\(words)\",\"createdAt\":\"2025-11-08T10:00:00Z\","
        + "\"updatedAt\":\"\(readAt[index] ?? "2025-11-08T10:00:00Z")\"\(read),\"bucketId\":\"b\",\"attachments\":[],\"actions\":["
        + "{\"type\":\"MARK_AS_READ\",\"destructive\":false,\"value\":\"mark_as_read_notification\",\"title\":\"Read\",\"icon\":\"check\"},"
        + "{\"type\":\"DELETE\",\"destructive\":true,\"value\":\"delete_notification\",\"title\":\"Delete\",\"icon\":\"trash\"}]}"
    }
    let kept = records.enumerated().filter { !without.contains($0.offset) && $0.offset >= first }.map(\.element)
    return Array("{\"notifications\":[\(kept.joined(separator: ","))],\"syncTimestamp\":\"2025-11-08T10:00:00Z\"}".utf8)
  }

  @Test("one change in a file of 150 notifications costs at most 2 % of it")
  func oneChange() throws {
    let base = Self.notifications()
    #expect(base.count > 120_000)
    let targets = [
      Self.notifications(readAt: [75: "2025-11-09T11:11:11Z"]), Self.notifications(without: [0]),
      Self.notifications(without: [80]),
      Self.notifications(first: 1),
    ]
    for target in targets { #expect(try roundTrip(base, target) * 50 <= target.count) }
    #expect(try roundTrip(Self.notifications(without: [80]), base) * 50 <= base.count)
    #expect(try roundTrip(base, base) < 20)
  }

  @Test func extremeInputsRoundTrip() throws {
    #expect(try roundTrip([], []) < 8)
    #expect(try roundTrip([], [1]) < 12)
    #expect(try roundTrip([1], []) < 8)
    #expect(try roundTrip([UInt8](repeating: 0, count: 100_000), [UInt8](repeating: 0, count: 99_999)) < 32)
    #expect(try roundTrip([UInt8](repeating: 0, count: 1000), [UInt8](repeating: 0, count: 100_000)) < 2000)
    #expect(
      try roundTrip([UInt8](repeating: 7, count: 100_000), (0..<100_000).map { UInt8(truncatingIfNeeded: $0 / 3) }) > 0)
  }

  @Test func randomEditsRoundTrip() throws {
    var random = SplitMix64(seed: 9)
    for _ in 0..<300 {
      let base = (0..<random.below(3000)).map { _ in UInt8(random.below(random.oneIn(2) ? 256 : 4)) }
      var target = base
      for _ in 0..<random.below(6) where !target.isEmpty {
        let start = random.below(target.count)
        let end = min(target.count, start + random.below(200))
        switch random.below(4) {
        case 0: target.removeSubrange(start..<end)
        case 1: target.insert(contentsOf: target[start..<end], at: random.below(target.count))
        case 2: target.insert(contentsOf: (0..<random.below(50)).map { _ in UInt8(random.below(256)) }, at: start)
        default: target[start] ^= 1
        }
      }
      let size = try roundTrip(base, target)
      #expect(size <= target.count + 64)
    }
  }

  @Test func limits() throws {
    let target = (0..<1000).map { UInt8(truncatingIfNeeded: $0 &* $0 &* 31) }
    #expect(ByteDelta.encode(from: [], to: target, limits: .init(deltaBytesMax: 500)) == nil)
    #expect(
      ByteDelta.encode(from: [UInt8](repeating: 1, count: 64), to: target, limits: .init(deltaBytesMax: 500)) == nil)
    #expect(ByteDelta.encode(from: [], to: target, limits: .init(targetBytesMax: 999)) == nil)
    let delta = try #require(ByteDelta.encode(from: [], to: target))
    let error = #expect(throws: ByteDeltaError.self) {
      try ByteDelta.decode(delta, base: [], limits: .init(targetBytesMax: 999))
    }
    #expect(error?.code == .limitExceeded)
    let wrong = #expect(throws: ByteDeltaError.self) { try ByteDelta.decode(delta, base: [1]) }
    #expect(wrong?.code == .wrongBase)
  }

  @Test("malformed deltas are refused or stay within the limits")
  func malformed() throws {
    var random = SplitMix64(seed: 13)
    let base = (0..<500).map { _ in UInt8(random.below(256)) }
    let target = Array(base[100...] + base[..<100] + [1, 2, 3])
    let delta = try #require(ByteDelta.encode(from: base, to: target))
    for cut in 0..<delta.count {
      #expect(throws: ByteDeltaError.self) { try ByteDelta.decode(Array(delta[..<cut]), base: base) }
    }
    #expect(throws: ByteDeltaError.self) { try ByteDelta.decode(delta + [0], base: base) }
    for _ in 0..<5000 {
      var damaged = delta
      for _ in 0..<(1 + random.below(3)) { damaged[random.below(damaged.count)] = UInt8(random.below(256)) }
      guard let result = try? ByteDelta.decode(damaged, base: base, limits: .init(targetBytesMax: 100_000)) else {
        continue
      }
      #expect(result.count <= 100_000)
    }
    let header = Array("CBD1".utf8)
    for tail: [UInt8] in [
      [], [0, 1], [0, 1, 2], [0, 1, 0], [0, 1, 1, 0], [0, 1, 3, 0], [0, 1, 5, 0],
      [0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F],
      [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
    ] {
      #expect(throws: ByteDeltaError.self, "\(tail)") { try ByteDelta.decode(header + tail, base: []) }
    }
  }
}
