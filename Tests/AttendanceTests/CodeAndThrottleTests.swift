import CampanileCrypto
import Testing

@testable import Attendance

@Suite struct CheckInCodeTests {
  private let key = [UInt8](repeating: 7, count: 32)
  private let nowMs: Int64 = 1_770_000_015_000

  private func parse(_ text: String, atMs: Int64) throws -> Result<CheckInCode, CheckInCode.Fault> {
    try CheckInCode.parse(text, key: key, nowMs: atMs)
  }

  @Test func aCodeIsGoodInItsStepAndTheNext() throws {
    let code = CheckInCode(meeting: 3, nowMs: nowMs)
    let text = try code.text(key: key)
    #expect(text.hasPrefix("ci1.3."))
    for offset: Int64 in [0, 14_999, 15_000, 44_999] {
      #expect(try parse(text, atMs: nowMs + offset) == .success(code))
    }
    #expect(try parse(text, atMs: nowMs + 45_000) == .failure(.expired))
    #expect(try parse(text, atMs: nowMs - 15_001) == .failure(.expired))
    #expect(code.refreshMs == nowMs + 15_000)
    #expect(code.expireMs == nowMs + 45_000)
  }

  @Test func everyChangedCharacterIsFound() throws {
    let text = try CheckInCode(meeting: 3, nowMs: nowMs).text(key: key)
    let bytes = Array(text.utf8)
    for index in bytes.indices {
      for other in [UInt8(ascii: "0"), UInt8(ascii: "9"), UInt8(ascii: "A"), UInt8(ascii: ".")]
      where other != bytes[index] {
        var changed = bytes
        changed[index] = other
        #expect(try parse(String(decoding: changed, as: UTF8.self), atMs: nowMs) == .failure(.invalid))
      }
    }
    #expect(try CheckInCode.parse(text, key: [UInt8](repeating: 8, count: 32), nowMs: nowMs) == .failure(.invalid))
  }

  @Test(arguments: [
    "", "ci1", "ci1...", "ci1.3.1.", "ci1.03.1.AAAAAAAAAAAAAAAAAAAAAA", String(repeating: ".", count: 10_000),
  ])
  func otherTextsAreNoCodes(_ text: String) throws {
    #expect(try parse(text, atMs: nowMs) == .failure(.invalid))
  }
}

/// A throttle that expectations may change.
private final class Box {
  var value = LoginThrottle()

  func begin(name: String, address: String?, nowMs: Int64) -> Int64? {
    value.begin(name: name, address: address, nowMs: nowMs)
  }

  func succeeded(name: String, address: String?) { value.succeeded(name: name, address: address) }
}

@Suite struct LoginThrottleTests {
  @Test func aNameHasFiveAttemptsInAQuarterOfAnHour() {
    let throttle = Box()
    for second: Int64 in 0..<5 { #expect(throttle.begin(name: "anna", address: nil, nowMs: second * 1_000) == nil) }
    #expect(throttle.begin(name: "anna", address: nil, nowMs: 10_000) == 890_000)
    #expect(throttle.begin(name: "bruno", address: nil, nowMs: 10_000) == nil)
    // What was refused did not count: the first attempt leaves the window and makes room.
    #expect(throttle.begin(name: "anna", address: nil, nowMs: 900_000) == nil)
    #expect(throttle.begin(name: "anna", address: nil, nowMs: 900_001) == 999)
  }

  @Test func successForgetsTheNamesFailures() {
    let throttle = Box()
    for _ in 0..<4 { _ = throttle.begin(name: "anna", address: "a", nowMs: 0) }
    #expect(throttle.begin(name: "anna", address: "a", nowMs: 1) == nil)
    throttle.succeeded(name: "anna", address: "a")
    for _ in 0..<5 { #expect(throttle.begin(name: "anna", address: "a", nowMs: 2) == nil) }
    #expect(throttle.begin(name: "anna", address: "a", nowMs: 2) != nil)
  }

  @Test func anAddressIsThrottledOverAllNames() {
    let throttle = Box()
    for index in 0..<30 { #expect(throttle.begin(name: "n\(index)", address: "a", nowMs: 0) == nil) }
    #expect(throttle.begin(name: "new", address: "a", nowMs: 1) == 899_999)
    #expect(throttle.begin(name: "new", address: "b", nowMs: 1) == nil)
  }

  @Test func itRemembersAtMostSoMany() {
    let throttle = Box()
    throttle.value.keysMax = 100
    for index in 0..<1_000 { _ = throttle.begin(name: "n\(index)", address: nil, nowMs: Int64(index)) }
    #expect(throttle.value.keyCount == 100)
  }

  @Test func aClockThatWasSetBackDoesNotLockOut() {
    let throttle = Box()
    for _ in 0..<5 { _ = throttle.begin(name: "anna", address: nil, nowMs: 1_000_000) }
    #expect(throttle.begin(name: "anna", address: nil, nowMs: 0) == nil)
  }
}
