import CampanileBase
import Testing

@Suite struct HexadecimalDigitsTests {
  @Test(arguments: [0, 1, 9, 10, 15, 16, 0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210, 1 << 63, .max])
  func matchStandardLibrary(_ value: UInt64) {
    let digits = String(value, radix: 16)
    let wanted = String(repeating: "0", count: 16 - digits.count) + digits
    var bytes = Array("x".utf8)
    HexadecimalDigits(value).append(to: &bytes)
    #expect(HexadecimalDigits(value).text == wanted && String(decoding: bytes, as: UTF8.self) == "x" + wanted)
  }
}

@Suite struct HexadecimalTests {
  @Test func bytesRoundTrip() {
    let bytes = Array(UInt8.min...UInt8.max)
    #expect(Hexadecimal.text([0x00, 0x9a, 0xff]) == "009aff")
    #expect(Hexadecimal.text([UInt8]()) == "" && Hexadecimal.bytes("") == [])
    #expect(Hexadecimal.bytes(Hexadecimal.text(bytes)) == bytes)
  }

  @Test(arguments: ["0", "0g", "0A", "+f", " 0", "é0", "00 "])
  func otherTextIsRejected(text: String) { #expect(Hexadecimal.bytes(text) == nil) }
}
