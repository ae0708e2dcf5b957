extension JSONPatch {
  /// Limits for a comparison. Beyond a limit the patch is still correct, but larger.
  public struct DiffLimits: Sendable, Hashable {
    /// Maximum number of element pairs compared for the longest common subsequence of two arrays without ids.
    public var cellsMax: Int
    /// Maximum number of records of an array that may be moved; beyond it, the array is replaced.
    public var movesMax: Int

    public init(cellsMax: Int = 250_000, movesMax: Int = 200) {
      self.cellsMax = cellsMax
      self.movesMax = movesMax
    }
  }

  /// Returns operations that turn `old` into a document equal to `new`.
  ///
  /// Arrays whose elements are all objects with a unique `id` are compared by `id`: the patch contains only the records
  /// added, removed, moved or changed. For other arrays, the longest common subsequence is retained, within limits. A
  /// value is replaced if its operations would take more bytes than the new value. Objects with duplicate names are
  /// replaced as a whole. Numbers and strings that differ only in notation are not changed.
  public static func diff(from old: JSONValue, to new: JSONValue, limits: DiffLimits = .init()) -> JSONPatch {
    var differ = PatchDiffer(limits: limits)
    differ.compare(old, new)
    return JSONPatch(operations: differ.operations)
  }
}

/// Collects operations while traversing two documents.
struct PatchDiffer {
  let limits: JSONPatch.DiffLimits
  private(set) var operations: [JSONPatch.Operation] = []
  /// An upper estimate of the operations' size as text.
  private var sizeBytes = 0
  private var path: [String] = []

  init(limits: JSONPatch.DiffLimits) {
    self.limits = limits
  }

  mutating func compare(_ old: JSONValue, _ new: JSONValue) {
    let firstOperation = operations.count
    let firstByte = sizeBytes
    switch (old, new) {
    case (.object(let old), .object(let new)): compareObjects(old, new)
    case (.array(let old), .array(let new)): compareArrays(old, new)
    default:
      if old != new { emit(.replace(path: pointer, value: new), new) }
      return
    }
    // Inspects at most as many bytes of the new value as the operations take.
    let spent = sizeBytes - firstByte
    guard spent > 0, let whole = new.sizeBytes(atMost: spent), whole + overhead < spent else { return }
    operations.removeSubrange(firstOperation...)
    sizeBytes = firstByte
    emit(.replace(path: pointer, value: new), new)
  }

  private var pointer: JSONPointer { JSONPointer(tokens: path) }

  /// The size of an operation without its value.
  private var overhead: Int { path.reduce(32) { $0 + $1.utf8.count + 1 } }

  mutating func emit(_ operation: JSONPatch.Operation, _ value: JSONValue? = nil) {
    operations.append(operation)
    sizeBytes += overhead + (value?.sizeBytes(atMost: .max) ?? 0)
  }

  mutating func inside(_ token: String, _ body: (inout PatchDiffer, JSONPointer) -> Void) {
    path.append(token)
    body(&self, pointer)
    path.removeLast()
  }

  private mutating func compareObjects(_ old: JSONObject, _ new: JSONObject) {
    guard let oldIndex = old.indexByName, let newIndex = new.indexByName else {
      if old != new { emit(.replace(path: pointer, value: .object(new)), .object(new)) }
      return
    }
    for member in old.members where newIndex[member.name] == nil {
      inside(member.name.value) { differ, path in differ.emit(.remove(path: path)) }
    }
    for member in new.members {
      inside(member.name.value) { differ, path in
        if let index = oldIndex[member.name] {
          differ.compare(old.members[index].value, member.value)
        } else {
          differ.emit(.add(path: path, value: member.value), member.value)
        }
      }
    }
  }

  private mutating func compareArrays(_ old: [JSONValue], _ new: [JSONValue]) {
    if let oldIds = RecordIds(old), let newIds = RecordIds(new), !old.isEmpty, !new.isEmpty {
      guard compareRecords(old, new, oldIds, newIds) else {
        return emit(.replace(path: pointer, value: .array(new)), .array(new))
      }
    } else {
      compareSequences(old, new)
    }
  }
}
