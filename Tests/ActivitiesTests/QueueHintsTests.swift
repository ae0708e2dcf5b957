import Testing

@testable import Activities

@Suite struct QueueHintsTests {
  @Test func everyLaneMayHoldPushesBeforeLearning() {
    var hints = QueueHints()
    #expect(hints.mayHoldMore(lane: "a"))
    #expect(hints.mayHoldDeadLetters)
    hints.foundEmpty(lane: "a")
    hints.keep()
    #expect(hints.mayHoldMore(lane: "a"))
    hints.learn(lanes: [("b", true)], hasDeadLetters: false)
    #expect(!hints.mayHoldMore(lane: "a"))
    #expect(hints.mayHoldMore(lane: "b"))
    #expect(!hints.mayHoldDeadLetters)
  }

  @Test func removalsCountAfterTheCommit() {
    var hints = QueueHints()
    hints.learn(lanes: [("a", true), ("b", true)], hasDeadLetters: true)
    hints.foundEmpty(lane: "a")
    hints.foundNoDeadLetters()
    #expect(hints.mayHoldMore(lane: "a"))
    #expect(hints.mayHoldDeadLetters)
    // The transaction is rolled back.
    hints.begin()
    hints.keep()
    #expect(hints.mayHoldMore(lane: "a"))
    #expect(hints.mayHoldDeadLetters)
    hints.foundEmpty(lane: "a")
    hints.foundNoDeadLetters()
    hints.keep()
    #expect(!hints.mayHoldMore(lane: "a"))
    #expect(!hints.mayHoldDeadLetters)
    #expect(hints.mayHoldMore(lane: "b"))
  }

  @Test func additionsCountImmediately() {
    var hints = QueueHints()
    hints.learn(lanes: [], hasDeadLetters: false)
    hints.foundEmpty(lane: "a")
    hints.foundNoDeadLetters()
    hints.added(lane: "a", isBehind: true)
    hints.addedDeadLetter()
    #expect(hints.mayHoldMore(lane: "a"))
    #expect(hints.mayHoldDeadLetters)
    // The lane was found empty earlier in the same transaction.
    hints.keep()
    #expect(hints.mayHoldMore(lane: "a"))
    #expect(hints.mayHoldDeadLetters)
  }

  @Test func firstPushIsDistinguishedFromThoseBehindIt() {
    var hints = QueueHints()
    hints.learn(lanes: [("b", false)], hasDeadLetters: false)
    #expect(hints.mayHold(lane: "b"))
    #expect(!hints.mayHoldMore(lane: "b"))
    #expect(!hints.mayHold(lane: "a"))
    hints.added(lane: "a", isBehind: false)
    #expect(hints.mayHold(lane: "a"))
    #expect(!hints.mayHoldMore(lane: "a"))
    hints.added(lane: "a", isBehind: true)
    // Another first push, after all others left in a transaction that may be rolled back alone.
    hints.added(lane: "a", isBehind: false)
    #expect(hints.mayHoldMore(lane: "a"))
    hints.foundEmpty(lane: "a")
    hints.keep()
    #expect(!hints.mayHold(lane: "a"))
  }

  @Test func everyLaneIsQueriedBeyondTheLimit() {
    var hints = QueueHints()
    hints.learn(lanes: [], hasDeadLetters: false)
    for number in 0...QueueHints.lanesMax { hints.added(lane: "\(number)", isBehind: false) }
    #expect(hints.mayHoldMore(lane: "none"))
    hints.foundEmpty(lane: "none")
    hints.keep()
    #expect(hints.mayHoldMore(lane: "none"))
    hints.learn(lanes: (0...QueueHints.lanesMax).map { ("\($0)", false) }, hasDeadLetters: false)
    #expect(hints.mayHoldMore(lane: "none"))
  }
}
