import CampanileJSON
import Testing

/// Duplicate names, which are reported on request (RFC 8259, sections 4 and 8.3).
@Suite struct DuplicateNamesTests {
  private static let limits = JSONLimits(duplicateNames: .report)

  private func duplicates(_ text: String, _ limits: JSONLimits = limits) throws -> [String]? {
    guard case .valid(let summary) = try validate(text, limits: limits) else { return nil }
    #expect(summary.duplicateCount >= summary.duplicates.count)
    return summary.duplicates.map { "\($0.path)@\($0.byteOffset)" }
  }

  @Test func duplicatesAreReportedWithPathAndOffset() throws {
    let table: [(String, [String])] = [
      (#"{"a":1,"b":2}"#, []), (#"{"a":1,"a":2}"#, ["/a@7"]), (#"{"a":1,"\u0061":2}"#, ["/a@7"]),
      (#"{"a":{"a":1},"b":{"a":1}}"#, []),
      (#"[{"a":1},{"a":1}]"#, []), (#"[1,{"x":[0,{"k":1,"k":2,"k":3}]}]"#, ["/1/x/1/k@18", "/1/x/1/k@24"]),
      (#"{"":0,"":1}"#, ["/@6"]), (#"{"a/b":0,"m~n":0,"a/b":1,"m~n":1}"#, ["/a~1b@17", "/m~0n@25"]),
      (#"{"é":1,"\u00E9":2,"e\u0301":3}"#, ["/é@8"]), (#"{"\uD83D\uDE80":1,"🚀":2}"#, ["/🚀@18"]),
      (#"{"\uD800":1,"\uDC00":2}"#, []),
      (#"[[],{},{"a":1},{"b":[]},{"a":1,"a":[{"a":2}]}]"#, ["/4/a@31"]),
    ]
    for (text, expected) in table { #expect(try duplicates(text) == expected, "\(text)") }
    // Without a request, none are reported.
    #expect(try duplicates(#"{"a":1,"a":2}"#, .init()) == [])
  }

  @Test func allDuplicatesAreCountedAndTheFirstOnesListed() throws {
    let text = "{" + (0..<100).map { "\"k\($0 % 10)\":0" }.joined(separator: ",") + "}"
    guard case .valid(let summary) = try validate(text, limits: Self.limits) else {
      Issue.record("must be valid")
      return
    }
    #expect(summary.duplicateCount == 90)
    #expect(summary.duplicates.count == 16)
  }

  @Test func longNamesAreShortenedInPathsOnly() throws {
    let name = String(repeating: "é", count: 100)
    let found = try #require(try duplicates("{\"\(name)1\":0,\"\(name)2\":0,\"\(name)1\":0}"))
    #expect(found == ["/" + String(repeating: "é", count: 32) + "…@413"])
  }

  @Test func numberOfNamesIsLimited() throws {
    let limits = JSONLimits(duplicateNames: .report, namesMax: 10)
    func object(_ count: Int) -> String { "{" + (0..<count).map { "\"\($0)\":0" }.joined(separator: ",") + "}" }
    #expect(try validate(object(10), limits: limits).isValid)
    let error = try #require(try validate(object(11), limits: limits).error)
    #expect(error.code == .namesExceeded)
    #expect(error.byteOffset == Int64(object(10).utf8.count))
    // Later errors and the chunk size do not change the result.
    let broken = Array((object(11) + "}}" + String(repeating: " ", count: 64)).utf8)
    for chunk in [1, 7, 64, 200] {
      let chunks = [Int](repeating: chunk, count: broken.count)
      #expect(try validate(broken, chunks: chunks, limits: limits).error == error)
    }
    // Closed objects do not count.
    #expect(try validate("[" + (0..<50).map { _ in object(10) }.joined(separator: ",") + "]", limits: limits).isValid)
    #expect(try validate("{\"a\":" + object(10) + "}", limits: limits).error?.code == .namesExceeded)
  }
}
