import CampanileStore

/// The lane's head, the number of commits by all processes, as far as a writer knows it.
struct LanePosition {
  /// Own commits in succession after which the next one is expected to follow, too. Where processes take turns, a wrong
  /// guess would cost a second run of the transaction each time.
  private static let successionMin = 8

  /// The head after this connection's last commit; nil if it is not known.
  private(set) var head: Int64?
  private var successionCount = 0
  /// The running transaction's answer with the lane's head.
  private var answer: AheadAnswer?
  /// Whether the running transaction is to follow the last commit.
  private(set) var continues = false
  var isOvertaken = false

  mutating func begin() {
    continues = head != nil && successionCount >= Self.successionMin
    isOvertaken = false
    answer = nil
  }

  /// Returns where to put the server's answer with the head.
  mutating func ask() -> AheadAnswer {
    let answer = AheadAnswer([.int8])
    self.answer = answer
    return answer
  }

  /// Whether the server has taken the lane for the running transaction.
  var isConfirmed: Bool { answer?.rows != nil }

  mutating func committed() {
    var taken: Int64?
    _ = try? answer?.rows?.forEach { row in
      taken = try row.integer(0)
      return false
    }
    successionCount = head.map { $0 + 1 } == taken ? successionCount + 1 : 0
    head = taken
  }

  /// The next transaction repeats writes one by one, and one of them would fail because of a commit in the meantime.
  mutating func rolledBack() { successionCount = 0 }

  mutating func overtaken() {
    head = nil
    successionCount = 0
    isOvertaken = true
  }
}

extension PostgreSQLConnection {
  var continues: Bool { lane.continues }
  var isOvertaken: Bool { lane.isOvertaken && hasDeferredFailure }

  func confirmContinuation() {
    guard continues, !lane.isConfirmed, session.lost == nil, abortedBy == nil else { return }
    do throws(StoreError) {
      if stage == .requested { try begin() }
      try settle()
    } catch {
      // A deferred failure, or the end of the session: the caller looks for both.
    }
  }

  /// Sends the statement that takes the lane.
  func takeLane() throws(StoreError) {
    var arguments: [SQLValue] = [.integer(session.number), .integer(token)]
    if continues, let head = lane.head { arguments.append(.integer(head)) }
    let follows = arguments.count == 3
    try laneParameters.fill(arguments, Array(repeating: .int8, count: arguments.count))
    try session.send(
      Command(kind: follows ? .follow : .lane, answer: lane.ask()),
      (follows ? ControlStatement.followLane : .takeLane).name, laneParameters)
  }

  /// Records that another process has committed since this connection's last commit.
  func overtaken() -> StoreError {
    let error = StoreError(.busy, "another process has committed in the meantime", path: place)
    lane.overtaken()
    abortedBy = error
    deferredFailure = error
    return error
  }
}
