import CampanileJSON
import Testing

@Suite struct RecordMergeTests {
  /// A bucket: id, name, minute of `updatedAt`.
  private struct Bucket {
    var id: String
    var name: String
    var minute: Int
  }

  private func document(_ buckets: [Bucket], sync: Int = 0, extra: String = "") throws -> JSONValue {
    let records = buckets.map {
      "{\"id\":\"\($0.id)\",\"name\":\"\($0.name)\",\"createdAt\":\"2025-11-08T10:00:00Z\",\"updatedAt\":\"2025-11-08T10:\($0.minute):00Z\"}"
    }
    return try JSONValue.parse(
      "{\"buckets\":[\(records.joined(separator: ","))],\"syncTimestamp\":\"2025-11-08T11:\(10 + sync):00Z\"\(extra)}")
  }

  private func names(_ outcome: RecordMerge.Outcome) -> [String] {
    (outcome.document["buckets"]?.elements ?? []).map { ($0["id"]?.text ?? "") + ":" + ($0["name"]?.text ?? "") }
  }

  private let a = Bucket(id: "a", name: "old", minute: 10)
  private let b = Bucket(id: "b", name: "old", minute: 10)

  private func changed(_ bucket: Bucket, _ name: String, _ minute: Int) -> Bucket {
    Bucket(id: bucket.id, name: name, minute: minute)
  }

  @Test("changes, additions and deletions of one side are merged")
  func oneSide() throws {
    let base = try document([a, b])
    let c = Bucket(id: "c", name: "new", minute: 11)
    let ours = try document([changed(a, "mine", 11), b])
    let theirs = try document([a, changed(b, "yours", 12), c], sync: 3)
    let outcome = try RecordMerge.merge(.buckets, base: base, ours: ours, theirs: theirs)
    #expect(names(outcome) == ["a:mine", "b:yours", "c:new"])
    #expect(outcome.conflicts.isEmpty)
    #expect(outcome.takenFromTheirs == ["b", "c"])
    #expect(outcome.document["syncTimestamp"]?.text == "2025-11-08T11:13:00Z")
    let deleted = try RecordMerge.merge(.buckets, base: base, ours: ours, theirs: document([a], sync: 4))
    #expect(names(deleted) == ["a:mine"])
    #expect(deleted.tombstones == [.init(id: "b", deletedAt: "2025-11-08T11:14:00Z")])
    #expect(deleted.recordCount == 1)
  }

  @Test("both sides changed: the later updatedAt wins, and ties do not depend on the side")
  func bothSides() throws {
    let base = try document([a])
    for (mine, yours, winner) in [(12, 11, "mine"), (11, 12, "yours"), (12, 12, "yours")] {
      let (ours, theirs) = (try document([changed(a, "mine", mine)]), try document([changed(a, "yours", yours)]))
      for base in [base, nil] {
        let outcome = try RecordMerge.merge(.buckets, base: base, ours: ours, theirs: theirs)
        #expect(names(outcome) == ["a:\(winner)"])
        #expect(outcome.conflicts == ["a"])
        #expect(names(try RecordMerge.merge(.buckets, base: base, ours: theirs, theirs: ours)) == ["a:\(winner)"])
      }
    }
  }

  @Test("deleted on one side and changed on the other: the change wins unless a tombstone is as late")
  func deletedAndChanged() throws {
    let base = try document([a, b])
    let (ours, theirs) = (try document([b]), try document([changed(a, "yours", 20), b]))
    let kept = try RecordMerge.merge(.buckets, base: base, ours: ours, theirs: theirs)
    #expect(names(kept) == ["a:yours", "b:old"])
    #expect(kept.conflicts == ["a"])
    #expect(kept.tombstones.isEmpty)
    for (time, isKept) in [("10:19", true), ("10:20", false), ("10:21", false)] {
      let tombstone = RecordMerge.Tombstone(id: "a", deletedAt: "2025-11-08T\(time):00Z")
      let outcome = try RecordMerge.merge(.buckets, base: base, ours: ours, theirs: theirs, tombstones: [tombstone])
      #expect(names(outcome) == (isKept ? ["a:yours", "b:old"] : ["b:old"]))
      #expect(outcome.tombstones == (isKept ? [] : [tombstone]))
      // With the sides exchanged, and without a base.
      #expect(
        names(try RecordMerge.merge(.buckets, base: base, ours: theirs, theirs: ours, tombstones: [tombstone])).count
          == (isKept ? 2 : 1))
      #expect(
        names(try RecordMerge.merge(.buckets, base: nil, ours: theirs, theirs: ours, tombstones: [tombstone])).count
          == (isKept ? 2 : 1))
    }
  }

  @Test("records deleted on both sides have the latest of their tombstones")
  func tombstones() throws {
    let base = try document([a, b])
    let outcome = try RecordMerge.merge(
      .buckets, base: base, ours: document([]), theirs: document([]),
      tombstones: [
        .init(id: "a", deletedAt: "2025-11-08T10:30:00Z"), .init(id: "a", deletedAt: "2025-11-08T10:20:00Z"),
        .init(id: "z", deletedAt: "2025-11-08T10:00:00Z"),
      ])
    #expect(outcome.tombstones.map(\.id) == ["a", "b", "z"])
    #expect(outcome.tombstones.first?.deletedAt == "2025-11-08T10:30:00Z")
  }

  @Test("order: ours, with theirs after the record that they follow there; notifications newest first")
  func order() throws {
    func bucket(_ id: String) -> Bucket { Bucket(id: id, name: "x", minute: 10) }
    let outcome = try RecordMerge.merge(
      .buckets, base: nil, ours: document([bucket("a"), bucket("m"), bucket("b")]),
      theirs: document([bucket("t0"), bucket("a"), bucket("t1"), bucket("t2"), bucket("b"), bucket("t3")]))
    #expect(names(outcome).map { $0.prefix { $0 != ":" } } == ["t0", "a", "t1", "t2", "m", "b", "t3"])
    func notes(_ minutes: [Int]) throws -> JSONValue {
      let records = minutes.map {
        "{\"id\":\"\($0)\",\"createdAt\":\"2025-11-08T10:\($0):00Z\",\"updatedAt\":\"2025-11-08T10:\($0):00Z\"}"
      }
      return try JSONValue.parse(ContainerTests.notifications(records))
    }
    let merged = try RecordMerge.merge(
      .notifications, base: nil, ours: notes([50, 30, 10]), theirs: notes([55, 40, 30, 20]))
    #expect(
      merged.document["notifications"]?.elements?.compactMap { $0["id"]?.text } == ["55", "50", "40", "30", "20", "10"])
  }

  @Test("other members of the container have the value of the side that changed them")
  func otherMembers() throws {
    let base = try document([], extra: #","x":1,"y":1,"gone":1"#)
    let outcome = try RecordMerge.merge(
      .buckets, base: base, ours: document([], extra: #","x":2,"y":1,"gone":1,"m":1"#),
      theirs: document([], extra: #","x":3,"y":4,"t":1"#))
    #expect(outcome.document["x"] == .number(2))
    #expect(outcome.document["y"] == .number(4))
    #expect(outcome.document["gone"] == nil)
    #expect(outcome.document["m"] == .number(1))
    #expect(outcome.document["t"] == .number(1))
  }

  @Test func wrongArgumentsAreRefusedWithSideAndPath() throws {
    let good = try document([a])
    let table: [(String, String)] = [
      ("[]", ""), ("{}", "/buckets"), (#"{"buckets":[]}"#, "/syncTimestamp"),
      (#"{"buckets":[1],"syncTimestamp":"2025-11-08T11:13:00Z"}"#, "/buckets/0/id"),
      (#"{"buckets":[{"id":"a"}],"syncTimestamp":"2025-11-08T11:13:00Z"}"#, "/buckets/0/updatedAt"),
    ]
    for (text, path) in table {
      let bad = try JSONValue.parse(text)
      let error = #expect(throws: RecordMergeError.self) {
        try RecordMerge.merge(.buckets, base: nil, ours: good, theirs: bad)
      }
      #expect(error?.side == .theirs)
      #expect(error?.path == path)
    }
    let twice = try document([a, a])
    #expect(throws: RecordMergeError.self) { try RecordMerge.merge(.buckets, base: twice, ours: good, theirs: good) }
    #expect(throws: RecordMergeError.self) {
      try RecordMerge.merge(
        .buckets, base: nil, ours: good, theirs: good, tombstones: [.init(id: "a", deletedAt: "noon")])
    }
  }
}
