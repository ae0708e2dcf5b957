import CampanileCrypto
import ServiceTesting
import Testing

@testable import Attendance

@Suite struct CheckInCodeTests {
  private let key = [UInt8](repeating: 7, count: 32)
  private let nowMs: Int64 = 1_770_000_015_000

  private func parse(_ text: String, atMs: Int64) throws -> Result<CheckInCode, CheckInCode.Fault> {
    try CheckInCode.parse(text, key: key, nowMs: atMs)
  }

  @Test func codeIsValidInItsStepAndTheNext() throws {
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

  @Test func everyChangedCharacterInvalidatesCode() throws {
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
  func malformedCodesAreInvalid(_ text: String) throws {
    #expect(try parse(text, atMs: nowMs) == .failure(.invalid))
  }
}
