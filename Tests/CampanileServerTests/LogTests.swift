import Logging
import Testing

@testable import CampanileServer

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

@Suite struct LogTests {
  struct Line: Decodable {
    var ts: String
    var level: String
    var logger: String
    var message: String
    var metadata: [String: String]?
  }

  func line(_ message: String, _ metadata: Logger.Metadata? = nil) throws -> (raw: String, line: Line) {
    let sink = Collector()
    let handler = CampanileLogHandler(
      label: "camp\"anile", level: .debug, format: .json, sink: sink, now: { 1_795_237_355_120 })
    Logger(label: "") { _ in handler }.warning("\(message)", metadata: metadata)
    let raw = try #require(sink.all.first)
    #expect(sink.all.count == 1)
    return (raw, try JSONDecoder().decode(Line.self, from: Data(raw.utf8)))
  }

  @Test(arguments: [
    "plain", "quote \" backslash \\ slash /", "line\nfeed\r\nreturn\ttab", "nul \0 bell \u{7} del \u{7f} c1 \u{9b}31m",
    "è già ora 🔔 \u{1F468}\u{200D}\u{1F469}", "\u{2028}\u{2029}", "e\u{301}\"\u{301}", "",
  ])
  func everyTextRoundTripsThroughOneLine(text: String) throws {
    let (raw, line) = try line(text, ["k\n\"": "\(text)"])
    #expect(line.message == text)
    #expect(line.metadata == ["k\n\"": text])
    #expect(line.level == "warning")
    #expect(line.logger == "camp\"anile")
    #expect(raw.hasSuffix("}\n"))
    #expect(!raw.dropLast().unicodeScalars.contains { $0.value < 0x20 || (0x7f...0x9f).contains($0.value) })
  }

  @Test(arguments: ["é", "x"]) func longTextsAreTruncated(character: String) throws {
    let (_, line) = try line(String(repeating: character, count: 100_000))
    #expect(line.message.utf8.count == CampanileLogHandler.maximumTextBytes + 3)
    #expect(line.message.hasSuffix("…"))
  }

  @Test func deepMetadataIsTruncated() throws {
    var value: Logger.MetadataValue = "x"
    for _ in 0..<100_000 { value = .array([value]) }
    let sink = Collector()
    let handler = CampanileLogHandler(label: "t", level: .info, format: .json, sink: sink)
    Logger(label: "") { _ in handler }.info("m", metadata: ["deep": value])
    #expect(sink.text.utf8.count < 300)
    // Release the levels one by one, because releasing the whole value would recurse.
    while case .array(let inner) = value, let next = inner.first { value = next }
  }

  @Test func timesAreRFC3339() {
    #expect(WallClock.rfc3339(0) == "1970-01-01T00:00:00.000Z")
    #expect(WallClock.rfc3339(951_782_400_001) == "2000-02-29T00:00:00.001Z")
    #expect(WallClock.rfc3339(1_795_237_355_120) == "2026-11-21T05:02:35.120Z")
    #expect(WallClock.rfc3339(-1) == "1969-12-31T23:59:59.999Z")
  }

  @Test func prettyLinesAreFilteredAndEscaped() {
    let sink = Collector()
    let handler = CampanileLogHandler(label: "t", level: .warning, format: .pretty, sink: sink)
    let logger = Logger(label: "") { _ in handler }
    logger.info("hidden")
    logger.error("two\nlines", metadata: ["a": "b\u{1b}[31m"])
    #expect(sink.all.count == 1)
    #expect(sink.text.contains("two?lines"))
    #expect(!sink.text.contains("b\u{1b}"))
    #expect(sink.text.filter(\.isNewline).count == 1)
  }
}
