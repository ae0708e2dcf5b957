public import CampanileBase

/// A bounded log in memory, for watches of events that no database records.
///
/// Sequences ascend by 1. The epoch is that of the process, so that a resume token of an earlier one is too old.
public struct RecentLog<Entry: Sendable>: Sendable {
  public let epoch: UInt64
  /// The sequence of the newest entry; 0 before the first one.
  public private(set) var lastSequence: Int64 = 0
  private let countMax: Int
  /// A ring: the entry with a sequence is at `(sequence - 1) % countMax`.
  private var entries: [Entry] = []

  public init(epoch: UInt64, countMax: Int) {
    self.epoch = epoch
    self.countMax = max(1, countMax)
  }

  public mutating func append(_ entry: Entry) {
    if entries.count < countMax {
      entries.append(entry)
    } else {
      entries[Int(lastSequence % Int64(countMax))] = entry
    }
    lastSequence += 1
  }

  /// The position of the present.
  public var present: ResumeToken { ResumeToken(epoch: epoch, sequence: lastSequence) }

  /// Returns the position where a watch begins: the present for an empty token.
  ///
  /// - Throws: INVALID_ARGUMENT for a token of another scope, and OUT_OF_RANGE, reason `TOKEN_TOO_OLD`.
  public func start(resumeToken: String, scope: String) throws(RPCError) -> ResumeToken {
    try ResumeToken.start(resumeToken, present: present, scope: scope, isRetained: isRetained)
  }

  /// Returns at most `limit` entries after a sequence, oldest first. Throws OUT_OF_RANGE, reason `TOKEN_TOO_OLD`, if
  /// one of them is no longer retained.
  public func entries(after sequence: Int64, limit: Int) throws(RPCError) -> [Entry] {
    guard isRetained(after: sequence) else { throw ChangeLogTable.tokenTooOld }
    let last = min(lastSequence, sequence + Int64(max(0, limit)))
    guard sequence < last else { return [] }
    return (sequence..<last).map { entries[Int($0 % Int64(countMax))] }
  }

  private func isRetained(after sequence: Int64) -> Bool { sequence >= lastSequence - Int64(entries.count) }
}
