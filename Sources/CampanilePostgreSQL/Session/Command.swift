import CampanileStore

/// A message sent to the server, whose answer is due.
struct Command {
  enum Kind: UInt8 {
    case begin, lane, follow, statement, check, commit, rollBack, prepare, sync
  }

  var kind: Kind
  /// Whether somebody waits for the result itself.
  var isWanted = false
  /// Receives the rows one by one as they arrive; nil for a result that is complete at its end.
  var stream: RowStream?
  /// Receives the result for a later use.
  var answer: AheadAnswer?
  /// The error if a change that must change a row has changed none.
  var missingRow: StoreError?

  static var sync: Command { Command(kind: .sync) }
}

/// A server's answer to a COMMIT.
struct CommitAnswer {
  /// COMMIT, or ROLLBACK for a transaction that had failed.
  var tag: String
  /// A warning before the answer: the standby may not have the commit.
  var warning: String?
}

/// The commands whose answers are due, in order. An array whose front moves, because it empties at every wait.
struct CommandQueue {
  private var commands: [Command] = []
  private var front = 0

  var isEmpty: Bool { front == commands.count }
  var first: Command? { isEmpty ? nil : commands[front] }

  mutating func append(_ command: Command) { commands.append(command) }

  mutating func removeFirst() {
    front += 1
    if front == commands.count || front == 1_024 {
      commands.removeFirst(front)
      front = 0
    }
  }
}
