import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore
import FoundationEssentials
import ServiceTesting
import TestSupport
import Testing

@testable import Notifications

extension NotificationsService {
  func search(
    _ query: String, _ context: CallContext, _ change: (inout SearchNotificationsRequest) -> Void = { _ in }
  ) async throws -> [String] {
    var request = SearchNotificationsRequest(query: query)
    change(&request)
    return try await searchNotifications(request, context: context).notifications.map(\.title)
  }
}

func draft(_ title: String, subtitle: String? = nil, body: String? = nil, in bucketID: String)
  -> CreateNotificationRequest
{
  var request = notification(title, in: bucketID)
  request.notification?.subtitle = subtitle
  request.notification?.body = body
  return request
}

@Suite struct SearchTests {
  private func publish(_ drafts: [CreateNotificationRequest], _ component: NotificationsComponent) async throws {
    _ = try await component.service.batchCreateNotifications(.init(requests: drafts), context: anna)
  }

  @Test func findsWordsOfAllTextsNewestFirst() async throws {
    let component = try await Fixture().open()
    let service = component.service
    let box = try await service.makeBucket("b", anna)
    try await publish(
      [
        draft("Café Müller öffnet", in: box.id), draft("Disk", subtitle: "of the Server", in: box.id),
        draft("Backup", body: "the server's backup failed, café closed", in: box.id),
        draft("Serverless", body: "disk-full", in: box.id),
      ], component)
    #expect(try await service.search("cafe", anna) == ["Backup", "Café Müller öffnet"])
    #expect(try await service.search("CAFÉ mull", anna) == ["Café Müller öffnet"])
    #expect(try await service.search("serv", anna) == ["Serverless", "Backup", "Disk"])
    #expect(try await service.search("serv backup", anna) == [])
    #expect(try await service.search("serv* backup", anna) == ["Backup"])
    #expect(try await service.search("server -backup d", anna) == ["Disk"])
    #expect(try await service.search("\"backup failed\"", anna) == ["Backup"])
    #expect(try await service.search("\"failed backup\"", anna) == [])
    #expect(try await service.search("serv* -\"backup failed\"", anna) == ["Serverless", "Disk"])
    #expect(try await service.search("disk-full", anna) == ["Serverless"])
    #expect(try await service.search("s", anna) == ["Serverless", "Backup", "Disk"])
    #expect(try await service.search("serverle", anna) == ["Serverless"])
    #expect(try await service.search("serverlessness", anna) == [])
    #expect(try await service.search("title : disk OR", anna) == [])
    #expect(try await service.search("u616e6e61", anna) == [])
    await component.close()
  }

  /// Returns the words of texts that `search_words` lacks, and its words that no text has.
  private func wordDifferences(_ component: NotificationsComponent) throws -> (missing: [String], surplus: [String]) {
    try component.store.readBlocking { transaction in
      let terms = "SELECT DISTINCT term FROM search_terms WHERE col <> 'scope'"
      let words = "SELECT word FROM search_words"
      return (
        try transaction.query("\(terms) EXCEPT \(words)") { try $0.text(0) },
        try transaction.query("\(words) EXCEPT \(terms)") { try $0.text(0) }
      )
    }
  }

  @Test(.onSQLite) func storedWordsEqualThoseOfTexts() async throws {
    let component = try await Fixture().open()
    let service = component.service
    let box = try await service.makeBucket("b", anna)
    let letters = Array("aàáäbcçdeéñoößşſKÅﬁ日本語Жд'-_ 12\u{301}\u{E000}")
    for _ in 0..<20 {
      let drafts = (0..<30).map { _ in
        let text = String((0..<40).map { _ in letters.randomElement() ?? "a" })
        return draft("n " + text, subtitle: String(text.reversed()), body: text + " body", in: box.id)
      }
      try await publish(drafts, component)
      _ = try await service.search("n", anna)
      #expect(try wordDifferences(component).missing == [])
    }
    let all = try await service.all(anna, pageSize: 1_000)
    #expect(all.count == 600)
    // A prefix of any length finds the words that have it.
    try await publish([draft("Résumé überprüfung", in: box.id)], component)
    for beginning in ["r", "resum", "uberpru", "uberprufun", "uberprufung"] {
      #expect(try await service.search(beginning, anna).contains("Résumé überprüfung"), "\(beginning)")
    }
    // Words without texts are deleted, in several runs if there are many.
    _ = try await service.batchDeleteNotifications(.init(notificationIds: all.map(\.id)), context: anna)
    #expect(try await service.search("n", anna) == [])
    var runs = 0
    while try await SearchWords.tidy(component.store) > 0 { runs += 1 }
    #expect(runs > 0)
    let (missing, surplus) = try wordDifferences(component)
    #expect(missing == [] && surplus == [])
    await component.close()
  }

  @Test func filtersByBucketDateAndUser() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    let service = component.service
    let one = try await service.makeBucket("one", anna)
    let two = try await service.makeBucket("two", anna)
    let foreign = try await service.makeBucket("b", bruno)
    var made: [Notification] = []
    for index in 0..<4 {
      fixture.clock.advance(by: .seconds(1))
      made.append(try await service.make("word \(index)", in: [one.id, two.id][index % 2], anna))
    }
    _ = try await service.make("word of bruno", in: foreign.id, bruno)
    #expect(try await service.search("word", anna) == ["word 3", "word 2", "word 1", "word 0"])
    #expect(try await service.search("word", anna) { $0.bucketId = two.id } == ["word 3", "word 1"])
    let between = try await service.search("word", anna) {
      $0.startTime = made[1].createTime
      $0.endTime = made[3].createTime
    }
    #expect(between == ["word 2", "word 1"])
    for id in [foreign.id, "b_none"] {
      let error = await failure { try await service.search("word", anna) { $0.bucketId = id } }
      #expect(error?.code == .notFound && error?.fieldViolations.first?.field == "bucketId")
    }
    let empty = await failure {
      try await service.search("word", anna) {
        $0.startTime = made[1].createTime
        $0.endTime = made[1].createTime
      }
    }
    #expect(empty?.reason == "TIME_RANGE_EMPTY")
    #expect(await failure { try await service.search("-word", anna) }?.reason == "QUERY_ONLY_NEGATIVE")
    #expect(await failure { try await service.search(String(repeating: "a", count: 257), anna) }?.reason == "TOO_LONG")
    #expect(await failure { try await service.search("a\u{0}b", anna) }?.reason == "TEXT_INVALID")
    #expect(await failure { try await service.search("a", anna) { $0.pageSize = -1 } }?.reason == "OUT_OF_RANGE")
    await component.close()
  }

  @Test func pageTokensAreBoundToUserAndQuery() async throws {
    let component = try await Fixture().open()
    let service = component.service
    let box = try await service.makeBucket("b", anna)
    try await publish((0..<25).map { draft("word \($0)", in: box.id) }, component)
    var request = SearchNotificationsRequest(query: "word", pageSize: 10)
    var found: [String] = []
    var sizes: [Int] = []
    repeat {
      let page = try await service.searchNotifications(request, context: anna)
      found += page.notifications.map(\.title)
      sizes.append(page.notifications.count)
      request.pageToken = page.nextPageToken
    } while !request.pageToken.isEmpty
    #expect(found == (0..<25).reversed().map { "word \($0)" } && sizes == [10, 10, 5])
    request.pageToken = try await service.searchNotifications(request, context: anna).nextPageToken
    request.query = "words"
    #expect(
      await failure { try await service.searchNotifications(request, context: anna) }?.reason == "PAGE_TOKEN_INVALID")
    request.query = "word"
    let other = await failure { try await service.searchNotifications(request, context: bruno) }
    #expect(other?.reason == "PAGE_TOKEN_INVALID")
    await component.close()
  }

  @Test func idleIndexerCommitsNothing() async throws {
    let component = try await Fixture().open()
    let box = try await component.service.makeBucket("b", anna)
    try await publish((0..<20).map { draft("word\($0)", in: box.id) }, component)
    // Until the index is up to date and fully merged, each of its commits triggers another run.
    let indexer = SearchIndexer(store: component.store)
    var joined: SearchState?
    for _ in 0..<100 where joined == nil { joined = try await indexer.drain() }
    let state = try #require(joined)
    let before = component.store.metrics().writes
    #expect(try await indexer.drain(joined: state) == state)
    #expect(component.store.metrics().writes == before)
    try await publish([draft("more", in: box.id)], component)
    var after = try await indexer.drain(joined: state)
    for _ in 0..<100 where after == nil { after = try await indexer.drain() }
    #expect(after != state)
    #expect(try await component.service.search("more", anna) == ["more"])
  }

  @Test func backlogOfOthersDoesNotDelayUser() async throws {
    let component = try await Fixture().open()
    let service = component.service
    let box = try await service.makeBucket("b", anna)
    let other = try await service.makeBucket("b", bruno)
    try await SearchIndexer(store: component.store).drain()
    for _ in 0..<2 {
      let request = BatchCreateNotificationsRequest(
        requests: (0..<1_000).map { notification("much \($0)", in: other.id) })
      _ = try await service.batchCreateNotifications(request, context: bruno)
    }
    _ = try await service.make("mine", in: box.id, anna)
    let indexer = SearchIndexer(store: component.store)
    #expect(try await service.search("mine", anna) == ["mine"])
    #expect(try await indexer.hasWork())
    let behind = await failure { try await service.search("much", bruno) }
    #expect(behind?.code == .unavailable && behind?.reason == "SEARCH_INDEX_BEHIND" && behind?.retryAfterMs == 1_000)
    try await indexer.drain()
    #expect(try await service.search("much", bruno).count == 50)
    #expect(try await !indexer.hasWork())
    await component.close()
  }

  @Test func rebuildsAfterLogTruncation() async throws {
    var retention = ChangeRetention()
    retention.rowsMax = 3
    let component = try await Fixture(retention: retention).open()
    let service = component.service
    let box = try await service.makeBucket("b", anna)
    var made: [Notification] = []
    for index in 0..<30 { made.append(try await service.make("old \(index)", in: box.id, anna)) }
    #expect(try await service.search("old", anna).count == 30)
    _ = try await service.batchDeleteNotifications(.init(notificationIds: made.prefix(10).map(\.id)), context: anna)
    for index in 0..<30 { _ = try await service.make("new \(index)", in: box.id, anna) }
    #expect(try await component.maintain(nowMs: 0) > 0)
    var indexer = SearchIndexer(store: component.store)
    indexer.batchBudget = 7
    // The rebuild continues in steps, even after a restart, because its state is in the database.
    try await indexer.step()
    #expect(try component.store.readBlocking { try SearchState($0).rebuild } != nil)
    try await indexer.drain()
    #expect(try await service.search("new", anna).count == 30)
    #expect(try await service.search("old", anna).count == 20)
    let documents = try component.store.readBlocking {
      try $0.queryOne("SELECT count(*) FROM search_documents") { try $0.integer(0) }
    }
    #expect(documents == 50)
    await component.close()
  }

  @Test func bucketDeletionAndRestorationUpdateIndex() async throws {
    let component = try await Fixture().open()
    let service = component.service
    let box = try await service.makeBucket("b", anna)
    let kept = try await service.makeBucket("kept", anna)
    try await publish((0..<30).map { draft("word \($0)", in: $0 < 20 ? box.id : kept.id) }, component)
    #expect(try await service.search("word", anna).count == 30)
    _ = try await service.deleteBucket(.init(bucketId: box.id), context: anna)
    var indexer = SearchIndexer(store: component.store)
    indexer.batchBudget = 6
    try await indexer.step()
    #expect(try component.store.readBlocking { try SearchState($0).bucketPosition } != "")
    #expect(try await service.search("word", anna).count == 10)
    try await indexer.drain()
    #expect(
      try component.store.readBlocking {
        try $0.queryOne("SELECT count(*) FROM search_documents") { try $0.integer(0) }
      } == 10)
    await component.close()
  }

  @Test func deletedBucketLeavesIndexBeforeItIsEmptied() async throws {
    let component = try await Fixture().open()
    let service = component.service
    let box = try await service.makeBucket("b", anna)
    try await publish((0..<5).map { draft("word \($0)", in: box.id) }, component)
    #expect(try await service.search("word", anna).count == 5)
    for (deletedAtMs, kind, count) in [(SQLValue.integer(1), Int64(6), Int64(0)), (.null, 4, 5)] {
      _ = try await component.store.write { transaction in
        try transaction.execute("UPDATE buckets SET deleted_at_ms = $1 WHERE id = $2", [deletedAtMs, .text(box.id)])
        try transaction.execute(
          """
          INSERT INTO changes (sequence, user_id, kind, bucket_id, notification_id, at_ms)
          VALUES ((SELECT max(sequence) + 1 FROM changes), 'anna', $1, $2, '', 1)
          """, [.integer(kind), .text(box.id)])
      }
      #expect(try await service.search("word", anna).count == Int(count))
      let documents = try component.store.readBlocking { transaction in
        try transaction.queryOne("SELECT count(*) FROM search_documents") { try $0.integer(0) }
      }
      #expect(documents == count)
    }
    await component.close()
  }

  /// Compares results after random changes with a linear search.
  @Test func resultsEqualLinearSearch() async throws {
    let seed =
      ProcessInfo.processInfo.environment["CAMPANILE_SEED"].flatMap(UInt64.init) ?? UInt64.random(in: 0 ... .max)
    var source = SplitMix(state: seed)
    let fixture = try Fixture()
    let component = try await fixture.open()
    let service = component.service
    var buckets: [String] = []
    for index in 0..<3 { buckets.append(try await service.makeBucket("\(index)", anna).id) }
    var model: [String: Notification] = [:]
    let words = ["alpha", "alphabet", "beta", "betamax", "gamma", "delta7", "order1", "order2"]
    for step in 0..<300 {
      let ids = model.keys.sorted()
      let some = ids.isEmpty ? nil : ids[source.below(ids.count)]
      let title = (0...source.below(3)).map { _ in words[source.below(words.count)] }.joined(separator: " ")
      switch (source.below(8), some) {
      case (0...4, _), (_, nil):
        let made = try await service.make(title, in: buckets[source.below(3)], anna)
        model[made.id] = made
      case (5, let id?):
        let change = Notification(id: id, bucketId: buckets[source.below(3)], title: title)
        model[id] = try await service.updateNotification(.init(notification: change), context: anna).notification
      case (6, let id?):
        _ = try await service.batchDeleteNotifications(.init(notificationIds: [id]), context: anna)
        model[id] = nil
      default:
        if step % 3 == 0 { try await SearchIndexer(store: component.store).merge() }
      }
      if source.below(4) > 0 { fixture.clock.advance(by: .milliseconds(1)) }
      guard step % 5 == 0 else { continue }
      let (whole, part) = (
        words[source.below(words.count)], String(words[source.below(words.count)].prefix(1 + source.below(7)))
      )
      let bucketID = source.below(2) == 0 ? buckets[source.below(3)] : nil
      let expected = model.values.filter { one in
        let own = one.title.split(separator: " ")
        return own.contains { $0 == whole } && own.contains { $0.hasPrefix(part) }
          && bucketID.map { $0 == one.bucketId } ?? true
      }
      let found = try await service.search("\(whole) \(part)", anna) {
        $0.bucketId = bucketID ?? ""
        $0.pageSize = 200
      }
      #expect(found == expected.sorted { $0.id > $1.id }.map(\.title), "seed \(seed) step \(step): \(whole) \(part)")
    }
    await component.close()
  }
}
