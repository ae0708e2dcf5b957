/// Three-way merge of a container by the ids of its records.
///
/// For each id, with `base` as what both sides started from:
/// - Only one side has changed the record, added or deleted it: that side's version.
/// - Both have changed it: the later `updatedAt` wins. With equal ones the version whose JSON text comes later in the order
///   of its bytes, so that the outcome does not depend on which side is which.
/// - One has deleted it and the other changed it: the change wins, unless a tombstone says that the record was deleted at
///   or after the change's `updatedAt`.
/// - A tombstone at or after a record's `updatedAt` deletes it on both sides, also when there is no base.
///
/// Records keep the order of `ours`; one that only `theirs` has comes behind the one that it follows there. When both
/// sides list notifications newest first, the outcome does, too. `syncTimestamp` is the later one. Of other members of the
/// container the side that changed them wins, `ours` if both did.
public enum RecordMerge {
  /// That a record was deleted, and when.
  public struct Tombstone: Sendable, Hashable {
    public var id: String
    /// ISO 8601 in the form of RFC 3339.
    public var deletedAt: String

    public init(id: String, deletedAt: String) {
      self.id = id
      self.deletedAt = deletedAt
    }
  }

  public struct Outcome: Sendable, Hashable {
    public var document: JSONValue
    public var recordCount: Int
    /// The ids of records of which `ours` differs from the outcome: what came from `theirs`.
    public var takenFromTheirs: [String]
    /// The ids that both sides have changed, each in its way, whoever won.
    public var conflicts: [String]
    /// The records of `base` and the tombstones that are gone: the given tombstones that still hold, and new ones with the
    /// `syncTimestamp` of the side that lacks the record.
    public var tombstones: [Tombstone]
  }

  /// Merges what `ours` and `theirs` have made of `base`; nil for `base` if it is unknown or there was none.
  ///
  /// Time and memory are linear in the records.
  ///
  /// - Throws: if a document is no container, a record has no id or the id of another one, or a date is malformed.
  public static func merge(
    _ container: Container, base: JSONValue?, ours: JSONValue, theirs: JSONValue, tombstones: [Tombstone] = []
  ) throws(RecordMergeError) -> Outcome {
    let base = try base.map { value throws(RecordMergeError) in try RecordSet(value, container, side: .base) }
    var merger = RecordMerger(
      container: container, base: base, ours: try RecordSet(ours, container, side: .ours),
      theirs: try RecordSet(theirs, container, side: .theirs))
    try merger.add(tombstones)
    return merger.merge()
  }
}

/// Why containers cannot be merged.
public struct RecordMergeError: Error, Sendable, Hashable, CustomStringConvertible {
  public enum Side: String, Sendable, Hashable {
    case base, ours, theirs, tombstones
  }

  /// Which of the arguments is wrong.
  public var side: Side
  /// The value that is wrong, as a JSON Pointer (RFC 6901).
  public var path: String
  /// One clause.
  public var reason: String

  public init(side: Side, path: String, reason: String) {
    self.side = side
    self.path = path
    self.reason = reason
  }

  public var description: String { "\(side.rawValue): \"\(path)\": \(reason)" }
}
