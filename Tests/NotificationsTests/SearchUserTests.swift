import CampanileAPI
import CampanileRPC
import CampanileStore
import ServiceTesting
import Testing

@testable import Notifications

@Suite(.onSQLite) struct SearchUserTests {
  private func texts(_ sql: String, _ component: NotificationsComponent) throws -> [String] {
    try component.store.readBlocking { try $0.query(sql) { try $0.text(0) } }
  }

  @Test("each word of the index belongs to one user")
  func wordsBelongToOneUser() async throws {
    let component = try await Fixture().open()
    for context in [anna, bruno] {
      let box = try await component.service.makeBucket("b", context)
      _ = try await component.service.make("Shared word", in: box.id, context)
      #expect(try await component.service.search("shared", context) == ["Shared word"])
    }
    let words = ["000001shared", "000001word", "000002shared", "000002word"]
    #expect(try texts("SELECT word FROM search_words ORDER BY word", component) == words)
    #expect(try texts("SELECT term FROM search_terms WHERE col <> 'scope' ORDER BY term", component) == words)
    let scopes = try texts("SELECT DISTINCT term FROM search_terms WHERE col = 'scope' ORDER BY term", component)
    #expect(scopes.count == 2 && scopes[0].hasPrefix("000001b") && scopes[1].hasPrefix("000002b"))
    // No query reaches another user's words, not even with that user's key.
    for query in ["000001shared", "\"000001shared\"", "000001*", "word 000001*"] {
      #expect(try await component.service.search(query, bruno) == [])
    }
    #expect(try await component.service.search("shared", user("carla")) == [])
    await component.close()
  }

  @Test("every indexed word of any text has its user's key")
  func everyWordHasItsUsersKey() async throws {
    let component = try await Fixture().open()
    let user = SearchUser(number: 7)
    let scalars = (1...0x10FFFF).compactMap(Unicode.Scalar.init)
    var texts: [String] = []
    for start in stride(from: 0, to: scalars.count, by: 4_096) {
      var text = String.UnicodeScalarView()
      for scalar in scalars[start..<min(start + 4_096, scalars.count)] {
        text += "a".unicodeScalars
        text.append(scalar)
        text += "b ".unicodeScalars
        text.append(scalar)
        text += " ".unicodeScalars
      }
      texts.append(user.words(of: String(text)))
    }
    let words = texts
    let (without, count) = try await component.store.write { transaction in
      for (index, text) in words.enumerated() {
        try transaction.execute(SearchWords.batchSQL, [.int(index + 1), .text(text)])
      }
      let without = try transaction.query(
        "SELECT term FROM search_batch_terms WHERE substr(term, 1, 6) <> $1 LIMIT 10", [.text(user.key)]
      ) { try $0.text(0) }
      let count = try transaction.queryOne("SELECT count(*) FROM search_batch_terms") { try $0.integer(0) } ?? 0
      try transaction.execute(SearchWords.emptySQL)
      return (without, count)
    }
    #expect(without.isEmpty && count > 100_000, "\(without) \(count)")
    await component.close()
  }

  /// Creates a store as the previous version left it, with texts of two users in one index.
  private func formerStore(_ fixture: Fixture) async throws {
    let former = NotificationsMigrations.all.prefix { $0.identifier != NotificationsMigrations.searchByUser.identifier }
    let store = try Store(fixture.configuration, migrations: Array(former))
    try await store.write { transaction in
      for (number, name) in ["anna", "bruno"].enumerated() {
        try transaction.execute(
          """
          INSERT INTO users (user_id, bucket_count, notification_count, unread_count, compacted_through)
          VALUES ($1, 1, 20, 20, 0)
          """, [.text(name)])
        try transaction.execute(
          """
          INSERT INTO buckets (user_id, id, name, is_orphan, created_at_ms, updated_at_ms, version, notification_count,
            unread_count) VALUES ($1, $2, 'b', 0, 1, 1, 1, 20, 20)
          """, [.text(name), .text("b_\(number)")])
        for index in 10..<30 {
          let key: [SQLValue] = [.text(name), .text("n_\(number)\(index)"), .text("b_\(number)")]
          let title: [SQLValue] = [.text("former text \(index) of \(name)")]
          try transaction.execute(
            """
            INSERT INTO notifications (user_id, id, bucket_id, title, priority, created_at_ms, updated_at_ms, version)
            VALUES ($1, $2, $3, $4, 1, 1, 1, 1)
            """, key + title)
          let document = SQLValue.int(1_000 * number + index)
          try transaction.execute(
            """
            INSERT INTO search_documents (document_id, user_id, notification_id, bucket_id) VALUES ($1, $2, $3, $4)
            """, [document] + key)
          try transaction.execute(
            "INSERT INTO search_index (rowid, title, scope) VALUES ($1, $2, 'u b')", [document] + title)
        }
      }
      try transaction.execute("INSERT INTO search_words (word) VALUES ('former'), ('text')")
    }
    await store.close()
  }

  @Test("after the migration, a store with the former index finds its texts and has no former words left")
  func migrationRebuildsFormerIndex() async throws {
    let fixture = try Fixture()
    try await formerStore(fixture)
    var component = try await fixture.open()
    var indexer = SearchIndexer(store: component.store)
    // In steps, even after a restart.
    indexer.batchBudget = 7
    try await indexer.step()
    #expect(try component.store.readBlocking { try SearchState($0).rebuild?.user } == "anna")
    await component.close()
    component = try await fixture.open()
    #expect(try await component.service.search("former", anna).count == 20)
    #expect(try await component.service.search("former -20", bruno).count == 19)
    #expect(try await component.service.search("anna", bruno) == [])
    try await SearchIndexer(store: component.store).drain()
    let words = try texts("SELECT word FROM search_words", component)
    #expect(words.allSatisfy { $0.hasPrefix("00000") } && words.contains("000002former"))
    let counts = try component.store.readBlocking {
      try $0.queryOne("SELECT (SELECT count(*) FROM search_documents), (SELECT count(*) FROM search_users)") {
        [try $0.integer(0), try $0.integer(1)]
      }
    }
    #expect(counts == [40, 2])
    await component.close()
  }
}
