import CampanileStore
import Testing

@Suite("Values of all kinds")
struct ValueTests {
  static let schema = [
    Migration(
      "0001-values",
      """
      CREATE TABLE items (
        id BIGINT NOT NULL PRIMARY KEY, whole BIGINT, small INTEGER, fraction DOUBLE PRECISION, name TEXT, data BYTEA)
      """)
  ]

  private static let values: [(String, SQLValue)] = [
    ("whole", .integer(.min)), ("whole", .integer(.max)), ("whole", .null), ("small", .integer(-7)),
    ("fraction", .real(0.1)), ("fraction", .real(.infinity)), ("fraction", .real(-.zero)), ("fraction", .null),
    ("fraction", .real(.leastNonzeroMagnitude)), ("name", .text("")), ("name", .text("grüße 👩‍🚀\n'\\")),
    ("name", .text(String(repeating: "ä", count: 1 << 19))), ("name", .null), ("data", .blob([])),
    ("name", .text("\0")), ("name", .text("a\0b\u{1}0\u{1}\u{2}\0")), ("name", .text("\u{1}1")),
    ("data", .blob([0, 255, 0])), ("data", .blob([UInt8](repeating: 7, count: 1 << 20))), ("data", .null),
  ]

  @Test("every value is read as it was written")
  func roundTrip() async throws {
    try await withStore(migrations: Self.schema) { store, _ in
      for (index, (column, value)) in Self.values.enumerated() {
        try await store.write {
          try $0.execute("INSERT INTO items (id, \(column)) VALUES ($1, $2)", [.int(index), value])
        }
        let read = try await store.read {
          try $0.queryOne("SELECT \(column) FROM items WHERE id = $1", [.int(index)]) { $0.value(0) }
        }
        #expect((read == value) as Bool, "value \(index) in \(column)")
      }
    }
  }

  @Test("NaN becomes NULL, as on SQLite")
  func notANumber() async throws {
    try await withStore(migrations: Self.schema) { store, _ in
      try await store.write {
        try $0.execute("INSERT INTO items (id, fraction) VALUES ($1, $2)", [1, .real(.nan)])
      }
      let value = try await store.read { try $0.queryOne("SELECT fraction FROM items") { $0.value(0) } }
      #expect(value == .null)
    }
  }

  @Test("other types of results are read as those of SQLite")
  func resultTypes() async throws {
    try await withStore(migrations: Self.schema) { store, _ in
      try await store.write { transaction in
        for (id, whole) in [(1, Int64.max), (2, 10_000), (3, -5)] {
          try transaction.execute("INSERT INTO items (id, whole) VALUES ($1, $2)", [.int(id), .integer(whole)])
        }
      }
      let row = try await store.read {
        try $0.queryOne(
          """
          SELECT name IS NULL, id = 2, (SELECT sum(whole) FROM items WHERE id > 1),
            (SELECT avg(whole) FROM items WHERE id > 1), (SELECT sum(whole) FROM items), 1, 'x', count(*) OVER (), 1.5, 0.0, -12345678.25,
            9223372036854775807::numeric, -9223372036854775808::numeric, 9223372036854775808::numeric, 1e20::numeric
          FROM items WHERE id = 2
          """
        ) { row in (0..<row.count).map { row.value($0) } }
      }
      let expected: [SQLValue] = [
        1, 1, 9_995, .real(4_997.5), .real(9_223_372_036_854_786_048), 1, "x", 1, .real(1.5), 0, .real(-12_345_678.25),
        .integer(.max), .integer(.min), .real(9_223_372_036_854_775_808), .real(1e20),
      ]
      #expect(row == expected)
    }
  }

  @Test("arguments that do not fit are refused, and their number is named")
  func refusedArguments() async throws {
    try await withStore(migrations: Self.schema) { store, _ in
      let cases: [(String, SQLValue, String)] = [
        ("small", .integer(1 << 40), "argument $2 does not fit"),
        ("name", .blob([1]), "argument $2 is a blob"), ("data", .integer(1), "argument $2 is an integer"),
        ("whole", .real(0.5), "argument $2 is not a whole number"),
      ]
      for (column, value, message) in cases {
        let error = await storeError {
          try await store.write { try $0.execute("INSERT INTO items (id, \(column)) VALUES ($1, $2)", [1, value]) }
        }
        #expect(error?.code == .invalidArgument)
        #expect(error?.message.contains(message) == true, "\(String(describing: error))")
      }
      let few = await storeError { try await store.write { try $0.execute("DELETE FROM items WHERE id = $1", []) } }
      #expect(few?.message.contains("takes 1 arguments but got 0") == true)
    }
  }

  @Test("messages of the server do not repeat values")
  func messagesWithoutValues() async throws {
    try await withStore(migrations: Self.schema) { store, _ in
      let error = await storeError {
        _ = try await store.read { try $0.queryOne("SELECT $1::text::bigint", ["geheim"]) { $0.value(0) } }
      }
      #expect(error?.code == .invalidArgument)
      #expect(error?.engineCode == "22P02")
      #expect(error?.message.contains("geheim") == false)
      try await store.write { try $0.execute("INSERT INTO items (id, name) VALUES (1, 'geheim')") }
      let duplicate = await storeError {
        try await store.write { try $0.execute("INSERT INTO items (id, name) VALUES (1, 'geheim')") }
      }
      #expect(duplicate?.code == .constraint)
      #expect(duplicate?.message == "duplicate key value violates unique constraint \"items_pkey\"")
    }
  }
}
