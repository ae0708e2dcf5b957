import Testing

@testable import Activities

@Suite struct QueueHintsTests {
  @Test func anythingMayBeThereBeforeItIsKnown() {
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

  @Test func whatIsFoundGoneCountsWithTheCommit() {
    var hints = QueueHints()
    hints.learn(lanes: [("a", true), ("b", true)], hasDeadLetters: true)
    hints.foundEmpty(lane: "a")
    hints.foundNoDeadLetters()
    #expect(hints.mayHoldMore(lane: "a"))
    #expect(hints.mayHoldDeadLetters)
    // The transaction is lost.
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

  @Test func whatIsAddedIsKnownAtOnceAndStays() {
    var hints = QueueHints()
    hints.learn(lanes: [], hasDeadLetters: false)
    hints.foundEmpty(lane: "a")
    hints.foundNoDeadLetters()
    hints.added(lane: "a", isBehind: true)
    hints.addedDeadLetter()
    #expect(hints.mayHoldMore(lane: "a"))
    #expect(hints.mayHoldDeadLetters)
    // Found empty before it was added, in the same transaction.
    hints.keep()
    #expect(hints.mayHoldMore(lane: "a"))
    #expect(hints.mayHoldDeadLetters)
  }

  @Test func theFirstOfALaneIsToldFromThoseBehindIt() {
    var hints = QueueHints()
    hints.learn(lanes: [("b", false)], hasDeadLetters: false)
    #expect(hints.mayHold(lane: "b"))
    #expect(!hints.mayHoldMore(lane: "b"))
    #expect(!hints.mayHold(lane: "a"))
    hints.added(lane: "a", isBehind: false)
    #expect(hints.mayHold(lane: "a"))
    #expect(!hints.mayHoldMore(lane: "a"))
    hints.added(lane: "a", isBehind: true)
    // Another first one, after all of them have gone in a transaction that may be undone alone.
    hints.added(lane: "a", isBehind: false)
    #expect(hints.mayHoldMore(lane: "a"))
    hints.foundEmpty(lane: "a")
    hints.keep()
    #expect(!hints.mayHold(lane: "a"))
  }

  @Test func tooManyLanesAreAllAsked() {
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
