/// Three-way merge of a container by the ids of its records.
///
/// The rules for each id, where `base` is the common ancestor of both sides:
/// - Only one side has changed, added or deleted the record: that side's version wins.
/// - Both have changed it: the later `updatedAt` wins. If they are equal, the version with the lexicographically
///   greater JSON text wins, so that the outcome does not depend on the order of the sides.
/// - One has deleted it and the other has changed it: the change wins, unless a tombstone records a deletion at or
///   after the change's `updatedAt`.
/// - A tombstone at or after a record's `updatedAt` deletes it on both sides, even if there is no base.
///
/// Records keep the order of `ours`. A record that only `theirs` has follows its predecessor in `theirs`. If both sides
/// list notifications newest first, so does the outcome. `syncTimestamp` is the later one. For other members of the
/// container, the side that changed a member wins, or `ours` if both did.
public enum RecordMerge {
  /// The deletion of a record and its time.
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
    /// The ids of the records in which `ours` differs from the outcome, because they were taken from `theirs`.
    public var takenFromTheirs: [String]
    /// The ids that both sides have changed in different ways, whichever side won.
    public var conflicts: [String]
    /// Tombstones of the deleted records: the given ones that still apply, and one for each record of `base` that was
    /// deleted. A new tombstone has the `syncTimestamp` of the side that lacks the record.
    public var tombstones: [Tombstone]
  }

  /// Merges the changes of `ours` and `theirs` since `base`. Time and memory are linear in the number of records.
  ///
  /// - Parameter base: The common ancestor; nil if it is unknown or there was none.
  /// - Throws: `RecordMergeError` if a document is not a container, an id is missing or duplicate, or a date is
  ///   malformed.
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

/// The reason containers cannot be merged.
public struct RecordMergeError: Error, Sendable, Hashable, CustomStringConvertible {
  public enum Side: String, Sendable, Hashable {
    case base, ours, theirs, tombstones
  }

  /// The invalid argument.
  public var side: Side
  /// The invalid value, as a JSON Pointer (RFC 6901).
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
