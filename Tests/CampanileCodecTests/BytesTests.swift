import CampanileCodec
import TestMessages
import Testing

/// The helpers for raw bytes, at every length and position around a block of 16.
@Suite struct BytesTests {
  @Test func findsTheFirstSpecialByteAnywhere() {
    for length in 0...50 {
      for place in 0...length {
        for special: UInt8 in [0x22, 0x5C, 0x00, 0x1F, 0x80, 0xFF] {
          var bytes = [UInt8](repeating: 0x61, count: length)
          if place < length { bytes[place] = special }
          bytes.withUnsafeBufferPointer { buffer in
            guard let start = buffer.baseAddress else { return }
            let end = start + length
            #expect(JSONBytes.firstSpecial(start, end) - start == place)
            #expect(JSONBytes.firstDelimiter(start, end) - start == (special < 0x80 ? place : length))
          }
        }
      }
    }
  }

  @Test func validatesLikeTheStandardLibrary() {
    var generator = SystemRandomNumberGenerator()
    let pieces: [[UInt8]] = [
      [0x61], Array("é".utf8), Array("漢".utf8), Array("🔔".utf8), [0x80], [0xC0, 0x80], [0xED, 0xA0, 0x80],
      [0xF4, 0x8F, 0xBF, 0xBF],
      [0xF4, 0x90, 0x80, 0x80], [0xE0, 0x9F, 0xBF], [0xF0, 0x8F, 0xBF, 0xBF], [0xFF], [0xC3], Array("abcdefghijk".utf8),
    ]
    for _ in 0..<5000 {
      let bytes = (0..<Int.random(in: 0..<8, using: &generator)).flatMap { _ in
        pieces.randomElement(using: &generator) ?? []
      }
      let valid = bytes.withUnsafeBufferPointer { buffer in
        buffer.baseAddress.map { JSONBytes.firstInvalidUTF8($0, $0 + buffer.count) == nil } ?? true
      }
      #expect(valid == (String(validating: bytes, as: UTF8.self) != nil), "\(bytes)")
    }
  }

  @Test func escapesStringsOfEveryLength() throws {
    for length in 0...70 {
      for character in ["a", "\"", "\\", "\u{1}", "\u{7f}", "é", "🔔", "\u{2028}"] {
        let text = String(repeating: "x", count: length) + character + String(repeating: "y", count: length % 7)
        let message = Scalars.with { $0.aString = text }
        #expect(try Scalars(jsonUTF8: message.jsonUTF8Bytes()) == message)
      }
    }
    #expect(
      Scalars.with { $0.aString = "\"\\\n\r\t\u{0}\u{1f}/" }.jsonString() == #"{"aString":"\"\\\n\r\t\u0000\u001f/"}"#)
  }

  @Test func writesExtremeNumbers() {
    var writer = JSONWriter(capacity: 1)
    writer.int32(.min)
    writer.append(UInt8(ascii: " "))
    writer.int64(.min)
    writer.append(UInt8(ascii: " "))
    writer.uint64(.max)
    writer.append(UInt8(ascii: " "))
    writer.number(Int.min)
    writer.append(UInt8(ascii: " "))
    writer.double(-.infinity)
    writer.float(0.1)
    let text = writer.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    #expect(
      text == #"-2147483648 "-9223372036854775808" "18446744073709551615" -9223372036854775808 "-Infinity"0.1"#)
  }

  @Test func writerIsReused() {
    var writer = JSONWriter()
    for round in 0..<3 {
      writer.removeAll(keepingCapacity: round > 0)
      writer.string(String(repeating: "z", count: 100_000))
      writer.withUnsafeBytes { bytes in
        #expect(bytes.count == 100_002)
        #expect(bytes.first == 0x22 && bytes.last == 0x22)
      }
    }
  }

  @Test func readsUpToEndOfText() throws {
    // Each text has an allocation of exactly its size, so that AddressSanitizer detects a read beyond it.
    for json in [#"{"aString":"abc"}"#, #"{"anInt32":12}"#, #"{"aDouble":1.5e3}"#, #"{"color":"COLOR_RED"}"#] {
      for count in 0...json.utf8.count {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
        defer { memory.deallocate() }
        memory.copyBytes(from: json.utf8.prefix(count))
        let message = try? Scalars(jsonUTF8: UnsafeRawBufferPointer(memory))
        #expect((message != nil) == (count == json.utf8.count))
      }
    }
  }
}
