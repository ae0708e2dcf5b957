import CampanileBase
import TestSupport
import Testing

@testable import CampanileRPC

@Suite struct StreamCreditTests {
  private func credit(_ messages: Int, _ bytes: Int) -> StreamCredit { StreamCredit(messages: messages, bytes: bytes) }

  @Test func messageNeedsBothNumbersAndTakesBoth() {
    #expect(credit(1, 1).allowsMessage)
    for none in [credit(0, 1), credit(1, 0), credit(1, -5), .zero] { #expect(!none.allowsMessage) }
    var left = credit(2, 10)
    left.take(bytes: 4_000_000)
    #expect(left == credit(1, -3_999_990) && !left.allowsMessage)
  }

  @Test func sumAboveMaximumIsRefusedAndChangesNothing() {
    func sum(_ first: StreamCredit, _ second: StreamCredit) -> StreamCredit? {
      var sum = first
      guard sum.add(second) else {
        #expect(sum == first)
        return nil
      }
      return sum
    }
    let almost = credit(StreamCredit.max - 1, -5)
    #expect(sum(almost, credit(2, 0)) == nil)
    let full = credit(StreamCredit.max, StreamCredit.max - 5)
    #expect(sum(almost, credit(1, StreamCredit.max)) == full)
    #expect(sum(full, credit(0, 6)) == nil)
    #expect(full.fitting(credit(1, 100)) == credit(0, 5))
    #expect(full.fitting(credit(-1, -1)) == .zero)
  }

  @Test func consumedCreditIsGrantedAtHalfOfTheInitialOne() {
    var consumed = ConsumedCredit()
    let short = (0..<16).map { _ in consumed.consumed(bytes: 10) }
    #expect(short == Array(repeating: nil, count: 15) + [credit(16, 160)])
    let long = [524_287, 1].map { consumed.consumed(bytes: $0) }
    #expect(long == [nil, credit(2, 524_288)])
  }

  /// The receiver's bound and the absence of a deadlock, for random sizes and speeds.
  @Test(arguments: 0..<50 as Range<UInt64>)
  func receiverBuffersItsCreditAndOneFrameAtMost(seed: UInt64) {
    let frameMax = 4 << 20
    var random = SplitMix64(seed: seed)
    var sender = StreamCredit.initial
    var receiver = StreamCredit.initial
    var consumed = ConsumedCredit()
    var queue: [Int] = []
    var sentCount = 0
    while sentCount < 2_000 {
      if sender.allowsMessage, random.next() % 3 > 0 {
        let sizeBytes = 1 + Int(random.next() % UInt64(random.next() % 4 == 0 ? frameMax : 2_000))
        #expect(receiver.allowsMessage)
        sender.take(bytes: sizeBytes)
        receiver.take(bytes: sizeBytes)
        queue.append(sizeBytes)
        sentCount += 1
      } else if !queue.isEmpty {
        if let grant = consumed.consumed(bytes: queue.removeFirst()) {
          let isValid = sender.add(grant) && receiver.add(grant)
          #expect(isValid)
        }
      } else if !sender.allowsMessage {
        Issue.record("the sender has no credit, and nothing waits for the receiver")
        return
      }
      #expect(queue.count <= StreamCredit.initial.messages)
      #expect(queue.reduce(0, +) < StreamCredit.initial.bytes + frameMax)
    }
  }

  @Test func connectionGrantsWhatIsMissingOnceHalfIsGone() {
    let sizeBytes = ConnectionCredit.initialBytes
    var connection = ConnectionCredit(bytes: sizeBytes)
    /// Returns the grant after a message.
    func grant(afterBytes takenBytes: Int, upTo limit: Int, queuedBytes: Int = 0) -> Int? {
      connection.take(bytes: takenBytes) ? connection.grant(upTo: limit, queuedBytes: queuedBytes) : nil
    }
    #expect(grant(afterBytes: sizeBytes / 2 - 1, upTo: sizeBytes) == 0)
    #expect(grant(afterBytes: 1, upTo: sizeBytes) == sizeBytes / 2)
    #expect(connection.bytes == sizeBytes)
    // A trusted connection grows at its first grant.
    let grown = 8 * sizeBytes
    #expect(grant(afterBytes: sizeBytes / 2, upTo: grown, queuedBytes: 100) == grown - sizeBytes / 2 - 100)
    // One message may overdraw the credit.
    #expect(grant(afterBytes: grown, upTo: grown, queuedBytes: grown) == 0)
    #expect(grant(afterBytes: 1, upTo: grown, queuedBytes: grown) == nil)
  }

  @Test func slowHandlersLeaveTheRestOfTheConnectionToOthers() {
    let sizeBytes = ConnectionCredit.initialBytes
    var connection = ConnectionCredit(bytes: sizeBytes)
    // All but 1 MiB waits for handlers that do not read.
    let stuckBytes = sizeBytes - (1 << 20)
    var (refusedCount, grantCount) = (connection.take(bytes: stuckBytes) ? 0 : 1, 0)
    for _ in 0..<10_000 {
      if connection.grant(upTo: sizeBytes, queuedBytes: stuckBytes) > 0 { grantCount += 1 }
      if !connection.take(bytes: 1_000) { refusedCount += 1 }
    }
    #expect(refusedCount == 0 && (10...30).contains(grantCount))
    #expect(connection.bytes <= 1 << 20)
  }
}
