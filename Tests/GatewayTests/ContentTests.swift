import CampanileAPI
import Testing

@testable import Gateway
@testable import GatewayHTTP

@Suite struct ContentTests {
  @Test(
    arguments: [
      ("bytes=0-0", 0, 0), ("bytes=5-", 5, nil), ("bytes=5-9", 5, 9), (" bytes=5-9 ", 5, 9),
    ] as [(String, Int64, Int64?)])
  func validRangesAreParsed(text: String, first: Int64, last: Int64?) throws {
    let range = try #require(ByteRange(text))
    #expect(range.first == first && range.last == last)
  }

  @Test(arguments: [
    "", "bytes", "bytes=", "bytes=-", "bytes=-5", "bytes=9-5", "bytes=1-2,4-5", "bytes=a-b", "bytes=+1-2", "lines=1-2",
    "bytes=1-2-3", "bytes=99999999999999999999-", "bytes= 1-2",
  ])
  func invalidRangesAreIgnored(text: String) { #expect(ByteRange(text) == nil) }

  private static func asset(size: Int64) -> Asset {
    Asset(sizeBytes: size, sha256: String(repeating: "00", count: 31) + "ff", etag: "e1")
  }

  private static func head(_ range: String?, size: Int64 = 100, ifNoneMatch: String? = nil) -> ContentHead {
    ContentHead(asset(size: size), range: range.flatMap(ByteRange.init), ifNoneMatch: ifNoneMatch)
  }

  @Test func responseHeadsDescribeTheContent() {
    func value(_ name: String, _ head: ContentHead) -> String? { head.headers.first { $0.0 == name }?.1 }
    let whole = Self.head(nil)
    #expect(whole.status == 200 && whole.progress == ContentProgress(length: 100, isCut: false))
    #expect(value("ETag", whole) == "\"e1\"" && value("Content-Length", whole) == "100")
    #expect(value("Repr-Digest", whole) == "sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAP8=:")
    let part = Self.head("bytes=10-19")
    #expect(part.status == 206 && part.progress == ContentProgress(length: 10, isCut: true))
    #expect(value("Content-Range", part) == "bytes 10-19/100")
    let rest = Self.head("bytes=90-200")
    #expect(rest.status == 206 && rest.progress == ContentProgress(length: 10, isCut: false))
    #expect(value("Content-Range", rest) == "bytes 90-99/100")
    let beyond = Self.head("bytes=100-")
    #expect(beyond.status == 416 && beyond.progress == nil && value("Content-Range", beyond) == "bytes */100")
    let known = Self.head("bytes=1-2", ifNoneMatch: "W/\"e1\"")
    #expect(known.status == 304 && known.progress == nil)
  }

  @Test func contentIsNotLongerThanAnnounced() {
    var progress = ContentProgress(length: 10, isCut: true)
    #expect(progress.take(4) == 4 && !progress.isComplete)
    #expect(progress.take(100) == 6 && progress.isComplete)
    #expect(progress.take(1) == 0)
  }
}
