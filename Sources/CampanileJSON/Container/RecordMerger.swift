/// Merges two sides record by record.
struct RecordMerger {
  private typealias Record = RecordSet.Record

  private let container: Container
  private let base: RecordSet?
  private let ours: RecordSet
  private let theirs: RecordSet
  private var deletedAt: [JSONString: (time: RecordTime, tombstone: RecordMerge.Tombstone)] = [:]
  private var takenFromTheirs: [String] = []
  private var conflicts: [String] = []

  init(container: Container, base: RecordSet?, ours: RecordSet, theirs: RecordSet) {
    self.container = container
    self.base = base
    self.ours = ours
    self.theirs = theirs
  }

  /// Adds tombstones. If an id has several, the latest counts.
  mutating func add(_ tombstones: [RecordMerge.Tombstone]) throws(RecordMergeError) {
    for (position, tombstone) in tombstones.enumerated() {
      guard let time = RecordTime(Array(tombstone.deletedAt.utf8)) else {
        throw RecordMergeError(
          side: .tombstones, path: "/\(position)/deletedAt", reason: "a date and time is required")
      }
      let id = JSONString(tombstone.id)
      if let known = deletedAt[id], known.time >= time { continue }
      deletedAt[id] = (time, tombstone)
    }
  }

  mutating func merge() -> RecordMerge.Outcome {
    var records: [Record] = []
    var following: [JSONString?: [Record]] = [:]
    var kept: Set<JSONString> = []
    for record in ours.records {
      if let winner = decide(JSONString(record.id)) {
        records.append(winner)
        kept.insert(JSONString(winner.id))
      }
    }
    var previous: JSONString?
    for record in theirs.records {
      let id = JSONString(record.id)
      if ours.index[id] == nil, let winner = decide(id) {
        following[previous, default: []].append(winner)
        kept.insert(id)
      } else if kept.contains(id) {
        previous = id
      }
    }
    records = Self.ordered(records, following)
    if container == .notifications, ours.isNewestFirst, theirs.isNewestFirst {
      records = records.enumerated().sorted { left, right in
        left.element.createdAt == right.element.createdAt
          ? left.offset < right.offset : left.element.createdAt > right.element.createdAt
      }.map(\.element)
    }
    return RecordMerge.Outcome(
      document: document(records), recordCount: records.count, takenFromTheirs: takenFromTheirs, conflicts: conflicts,
      tombstones: tombstones(without: kept))
  }

  private static func ordered(_ records: [Record], _ following: [JSONString?: [Record]]) -> [Record] {
    var result = following[nil] ?? []
    for record in records {
      result.append(record)
      result.append(contentsOf: following[JSONString(record.id)] ?? [])
    }
    return result
  }

  /// Returns the version of a record that remains; nil if the record is deleted.
  private mutating func decide(_ id: JSONString) -> Record? {
    let mine = ours.record(id)
    let yours = theirs.record(id)
    let before = base?.record(id)
    guard let winner = winner(mine, yours, before, id.value) else {
      if mine != nil { takenFromTheirs.append(id.value) }
      return nil
    }
    if let deleted = deletedAt[id], deleted.time >= winner.updatedAt {
      if mine != nil { takenFromTheirs.append(id.value) }
      return nil
    }
    if mine?.value != winner.value { takenFromTheirs.append(id.value) }
    return winner
  }

  private mutating func winner(_ mine: Record?, _ yours: Record?, _ before: Record?, _ id: String) -> Record? {
    guard let mine, let yours else {
      guard let only = mine ?? yours else { return nil }
      // Unchanged on one side and missing on the other: deleted. Not in the base: added.
      guard let before else { return only }
      if only.value == before.value { return nil }
      conflicts.append(id)
      return only
    }
    if mine.value == yours.value { return mine }
    if let before {
      if mine.value == before.value { return yours }
      if yours.value == before.value { return mine }
    }
    conflicts.append(id)
    if mine.updatedAt != yours.updatedAt { return mine.updatedAt > yours.updatedAt ? mine : yours }
    return mine.value.serialised().lexicographicallyPrecedes(yours.value.serialised()) ? yours : mine
  }

  private func tombstones(without kept: Set<JSONString>) -> [RecordMerge.Tombstone] {
    var result = deletedAt.filter { !kept.contains($0.key) }.mapValues(\.tombstone)
    for record in base?.records ?? [] {
      let id = JSONString(record.id)
      if kept.contains(id) || result[id] != nil { continue }
      let side = ours.index[id] == nil ? ours : theirs
      result[id] = .init(id: record.id, deletedAt: side.syncText)
    }
    return result.values.sorted { $0.id < $1.id }
  }

  private func document(_ records: [Record]) -> JSONValue {
    var object = ours.object
    for member in theirs.object.members {
      let mine = ours.object.index(of: member.name).map { ours.object.members[$0].value }
      let before = base.flatMap { base in
        base.object.index(of: member.name).map { base.object.members[$0].value }
      }
      if mine == before, let index = object.index(of: member.name) {
        object.members[index].value = member.value
      } else if mine == nil, before == nil {
        object.members.append(member)
      }
    }
    if let base {
      object.members.removeAll { member in
        theirs.object.index(of: member.name) == nil
          && base.object.index(of: member.name).map { base.object.members[$0].value } == member.value
      }
    }
    object[container.recordsName] = .array(records.map(\.value))
    object["syncTimestamp"] = .string(ours.syncTimestamp >= theirs.syncTimestamp ? ours.syncText : theirs.syncText)
    return .object(object)
  }
}
