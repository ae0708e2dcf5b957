import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import Testing

@testable import Notifications

@Suite struct SearchQueryTests {
  private typealias Term = SearchQuery.Term

  private func parse(_ text: String) -> (SearchQuery?, [String]) {
    var violations = Violations()
    let query = SearchQuery(text, field: "query", &violations)
    #expect((query == nil) == !violations.isEmpty)
    #expect(violations.items.allSatisfy { $0.field == "query" })
    return (query, violations.items.map(\.reason))
  }

  @Test func parsesWordsPhrasesPrefixesAndExclusions() {
    let query = parse("  server dis* \"Backup failed\" -test -\"dry run\" las").0
    #expect(
      query?.required == [
        Term(text: "server"), Term(text: "dis*", isPrefix: true), Term(text: "Backup failed"),
        Term(text: "las", isPrefix: true),
      ])
    #expect(query?.excluded == [Term(text: "test"), Term(text: "dry run")])
  }

  @Test(arguments: [
    ("a \"b c\"", [Term(text: "a"), Term(text: "b c")]),
    ("a -b", [Term(text: "a")]),
    ("a !!! *", [Term(text: "a", isPrefix: true)]),
    ("\"b c\"*", [Term(text: "b c", isPrefix: true)]),
    ("a\"b\"", [Term(text: "a"), Term(text: "b")]),
    ("AND", [Term(text: "AND", isPrefix: true)]),
    ("日本", [Term(text: "日本", isPrefix: true)]),
  ])
  private func parsesTerms(_ text: String, _ terms: [SearchQuery.Term]) {
    #expect(parse(text).0?.required == terms)
  }

  @Test(arguments: [
    ("", "REQUIRED"), ("   ", "REQUIRED"), ("*** !", "REQUIRED"), ("\"\"", "REQUIRED"), ("🎉", "REQUIRED"),
    ("a b c d e f g h i j k l m n o p q", "TOO_MANY"), ("-a", "QUERY_ONLY_NEGATIVE"),
    ("-a -\"b c\"", "QUERY_ONLY_NEGATIVE"), ("a \"b", "QUERY_QUOTES_UNBALANCED"), ("\"", "QUERY_QUOTES_UNBALANCED"),
    ("-\"a", "QUERY_QUOTES_UNBALANCED"),
  ])
  func refuses(_ text: String, _ reason: String) {
    #expect(parse(text).1 == [reason])
  }

  @Test func acceptsLongestQueries() {
    #expect(parse(String(repeating: "é", count: 256)).0 != nil)
    #expect(parse("a b c d e f g h i j k l m n o p").0?.required.count == 16)
  }

  @Test func quotesEverything() {
    let term = SearchTerm(text: "c\" OR title : d", isPrefix: true)
    let text = SearchExpression.text(
      bucketWord: "x\" OR \"y", required: [.term(term)], excluded: [SearchTerm(text: "NEAR(e)")])
    #expect(
      text == """
        (scope : "x"" OR ""y" AND {title subtitle body} : ("c"" OR title : d"*)) \
        NOT {title subtitle body} : ("NEAR(e)")
        """)
  }

  @Test func wordsCarryTheirUsersKey() {
    let user = SearchUser(number: 33)
    #expect(user.key == "000011" && SearchUser(number: (1 << 30) - 1).key == "zzzzzz")
    #expect(user.words(of: " Disk-full, caf\u{E9}s! ") == "000011Disk 000011full 000011caf\u{E9}s")
    // A combining accent belongs to its word, and is ignored otherwise.
    #expect(user.words(of: "cafe\u{301}s \u{301} a") == "000011cafe\u{301}s 000011a")
    #expect(user.words(of: "\u{1F600}a\u{1F600}b") == "000011a 000011b")
    #expect(user.words(of: "\" OR title : d*") == "000011OR 000011title 000011d")
    #expect(user.words(of: "") == "" && user.words(of: "?!") == "")
    #expect(user.term(Term(text: "a b", isPrefix: true)) == SearchTerm(text: "000011a 000011b", isPrefix: true))
    #expect(user.bucketWord("x") == "000011b78")
  }

  @Test func parsesTimeOfID() {
    let id = SortableID.text(prefix: "n_", timeMs: 1_770_000_000_123, tail: 77)
    #expect(SortableID.timeMs(of: id, prefix: "n_") == 1_770_000_000_123)
    #expect(SortableID.timeMs(of: id, prefix: "b_") == nil)
    #expect(SortableID.timeMs(of: id.uppercased(), prefix: "n_") == nil)
    #expect(SortableID.timeMs(of: String(id.dropLast()), prefix: "n_") == nil)
    #expect(SortableID.timeMs(of: "n_" + String(repeating: "z", count: 22), prefix: "n_") == nil)
    #expect(SortableID.timeMs(of: "", prefix: "n_") == nil)
  }

  @Test func mergesTwoListsUpToWhereBothAreKnown() {
    #expect(SearchWriter.merge([1, 3], [2, 3], countMax: 3, by: <) == ([1, 2, 3], true))
    #expect(SearchWriter.merge([1, 3, 5], [2, 9], countMax: 3, by: <) == ([1, 2, 3, 5], false))
    #expect(SearchWriter.merge([1, 3, 5], [2, 3, 4], countMax: 3, by: <) == ([1, 2, 3, 4], false))
    #expect(SearchWriter.merge([Int](), [], countMax: 3, by: <) == ([], true))
  }
}
