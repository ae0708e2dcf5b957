import CampanileAPI
import CampanileBase
import CampanilePostgreSQL
import CampanileRPC
import CampanileStore
import ServiceTesting
import TestSupport
import Testing

@testable import Notifications

/// The same texts are indexed by both engines, and the same queries must find the same notifications in the same order.
@Suite struct SearchEngineTests {
  private static let queryCount = 2_500
  private static let words = [
    "server", "Server", "SERVERS", "serverless", "disk", "disk-full", "Café", "cafe", "cafés", "Müller", "mull",
    "öffnet",
    "naïve",
    "Ångström", "straße", "STRASSE", "10.0.0.1", "10", "a", "ab", "abc", "abcd", "abcdefgh", "e-mail", "x_y",
    "日本語", "данные", "Данные", "ΣΊΣΥΦΟΣ", "σίσυφος", "ﬁle", "½", "don't", "C++", "👍", "the", "the", "the", "backup",
    "failed", "b6e5f31", "İstanbul", "e\u{301}te", "ete", "#tag", "'quoted'", "back\\slash", "%like%",
  ]

  private struct Sides {
    let sqlite: NotificationsComponent
    let postgreSQL: NotificationsComponent

    var both: [NotificationsComponent] { [sqlite, postgreSQL] }

    init(_ folder: TemporaryFolder) async throws {
      let path = folder.file("notifications.sqlite")
      let server = StoreConfiguration(try PostgreSQLEngine(TestStore.address(path)))
      let clock = TestClock()
      func open(_ store: StoreConfiguration) async throws -> NotificationsComponent {
        try await NotificationsComponent(store: store, nowMs: { clock.nowMs })
      }
      sqlite = try await open(StoreConfiguration(path: path))
      postgreSQL = try await open(server)
    }

    func close() async { for side in both { await side.close() } }
  }

  /// Returns texts of common and rare words, long ones, and one that is repeated more often than a vector can position.
  private func texts(_ random: inout SplitMix64) -> [String] {
    let long = String(repeating: "ö", count: 1_500)
    var texts = [
      String(repeating: "again ", count: 300) + "end", long, long + "x", long + " backup", "\(long)y backup failed",
    ]
    for _ in 0..<400 {
      texts.append((0..<Int.random(in: 1...12, using: &random)).map { _ in word(&random) }.joined(separator: " "))
    }
    return texts
  }

  private func word(_ random: inout SplitMix64) -> String {
    Self.words[Int.random(in: 0..<Self.words.count, using: &random)]
  }

  private func query(_ random: inout SplitMix64, _ texts: [String]) -> String {
    let terms = (0..<Int.random(in: 1...3, using: &random)).map { _ in
      var term = word(&random)
      if Int.random(in: 0..<4, using: &random) == 0 {
        let text = texts[Int.random(in: 0..<texts.count, using: &random)].split(separator: " ")
        let start = Int.random(in: 0..<text.count, using: &random)
        let end = min(text.count, start + Int.random(in: 1...4, using: &random))
        term = "\"\(text[start..<end].joined(separator: " "))\""
      } else if Bool.random(using: &random) {
        term = String(term.prefix(Int.random(in: 1...4, using: &random)))
      }
      if Int.random(in: 0..<3, using: &random) == 0 { term += "*" }
      return Int.random(in: 0..<6, using: &random) == 0 ? "-\(term)" : term
    }
    return terms.joined(separator: " ")
  }

  /// Returns the titles that a query finds, over several pages, or the reason of its failure.
  private func answer(
    _ request: SearchNotificationsRequest, _ component: NotificationsComponent
  ) async throws -> [String] {
    var request = request
    var titles: [String] = []
    do {
      for _ in 0..<3 {
        let page = try await component.service.searchNotifications(request, context: anna)
        titles += page.notifications.map(\.title)
        request.pageToken = page.nextPageToken
        if request.pageToken.isEmpty { break }
      }
    } catch let error as RPCError {
      return ["\(error.code) \(error.reason) \(faults(error))"]
    }
    return titles
  }

  @Test("both engines find the same for 10,000 generated queries", arguments: 1...4)
  func enginesFindTheSame(seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    let folder = try TemporaryFolder()
    let sides = try await Sides(folder)
    let texts = texts(&random)
    for side in sides.both {
      let boxes = [try await side.service.makeBucket("a", anna), try await side.service.makeBucket("b", anna)]
      for (index, text) in texts.enumerated() {
        var request = draft("\(index)", body: text, in: boxes[index % 2].id)
        if index % 3 == 0 { request.notification?.subtitle = String(texts[(index * 7) % texts.count].prefix(200)) }
        _ = try await side.service.createNotification(request, context: anna)
      }
      let box = try await side.service.makeBucket("c", bruno)
      _ = try await side.service.make("server of another user", in: box.id, bruno)
    }
    var buckets: [[String]] = []
    for side in sides.both {
      let found = try await side.service.listBuckets(.init(), context: anna).buckets
      buckets.append(found.sorted { $0.name < $1.name }.map(\.id))
    }
    var foundCount = 0
    for number in 0..<Self.queryCount {
      let text = query(&random, texts)
      let bucket = Int.random(in: 0..<6, using: &random)
      var answers: [[String]] = []
      for (side, ids) in zip(sides.both, buckets) {
        var request = SearchNotificationsRequest(query: text, pageSize: 7)
        if bucket < 2 { request.bucketId = ids[bucket] }
        answers.append(try await answer(request, side))
      }
      foundCount += answers[0].isEmpty ? 0 : 1
      guard answers[0] == answers[1] else {
        Issue.record("query \(number) \(text): \(answers[0]) on SQLite, \(answers[1]) on PostgreSQL")
        break
      }
    }
    #expect(foundCount > Self.queryCount / 4)
    await sides.close()
  }
}
