import NIOCore
import Testing

@testable import CampanileRPC

@Suite struct FrameDecoderTests {
  private func frame(_ text: String) -> [UInt8] {
    withUnsafeBytes(of: UInt32(text.utf8.count).bigEndian) { Array($0) } + Array(text.utf8)
  }

  private func feed(_ decoder: inout FrameDecoder, _ bytes: [UInt8]) throws -> [String] {
    var frames: [String] = []
    try decoder.feed(ByteBuffer(bytes: bytes)) {
      frames.append(String(decoding: $0, as: UTF8.self))
      return true
    }
    return frames
  }

  @Test(arguments: 1...12) func splitsFramesForAnyReadSize(_ size: Int) throws {
    let texts = ["a", "bcdef", String(repeating: "x", count: 100), "é"]
    let stream = texts.flatMap(frame)
    var decoder = FrameDecoder(frameBytesMax: 100)
    var seen: [String] = []
    for start in stride(from: 0, to: stream.count, by: size) {
      seen += try feed(&decoder, Array(stream[start..<min(start + size, stream.count)]))
    }
    #expect(seen == texts)
    #expect(!decoder.isInsideFrame)
  }

  @Test func rejectsInvalidLengthsBeforeBuffering() throws {
    var decoder = FrameDecoder(frameBytesMax: 8)
    #expect(throws: FrameDecoder.Fault.empty) { try feed(&decoder, [0, 0, 0, 0]) }
    decoder = FrameDecoder(frameBytesMax: 8)
    #expect(throws: FrameDecoder.Fault.tooLarge(9)) { try feed(&decoder, [0, 0, 0, 9]) }
    decoder = FrameDecoder(frameBytesMax: 8)
    #expect(throws: FrameDecoder.Fault.tooLarge(0xFF_FFFF)) { try feed(&decoder, [0, 255, 255, 255]) }
    decoder = FrameDecoder(frameBytesMax: 8)
    #expect(throws: FrameDecoder.Fault.flags(0x80)) { try feed(&decoder, [0x80, 0, 0, 1]) }
    decoder = FrameDecoder(frameBytesMax: 8)
    #expect(try feed(&decoder, frame("12345678")) == ["12345678"])
  }

  @Test func stopsOnRequestAndResumes() throws {
    var decoder = FrameDecoder(frameBytesMax: 8)
    let bytes = frame("a") + frame("b") + frame("c") + frame("d") + frame("e")
    var seen: [String] = []
    func one(_ bytes: [UInt8]) throws {
      try decoder.feed(ByteBuffer(bytes: bytes)) {
        seen.append(String(decoding: $0, as: UTF8.self))
        return false
      }
    }
    try one(Array(bytes[..<13]))
    #expect(seen == ["a"] && decoder.isInsideFrame)
    try one([])
    decoder.keep(ByteBuffer(bytes: bytes[13...]))
    try one([])
    #expect(seen == ["a", "b", "c"])
    #expect(try feed(&decoder, []) == ["d", "e"])
    #expect(!decoder.isInsideFrame)
  }
}
