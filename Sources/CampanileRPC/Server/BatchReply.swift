import NIOCore

/// Collects the responses of a batch and returns them as one array once the last one has arrived.
final class BatchReply {
  /// The calls of the batch without a response, plus one until the whole batch was read.
  private var pendingCount = 1
  private var answers = ByteBuffer()
  private var answerCount = 0
  private var ids: Set<CallID> = []

  var sizeBytes: Int { answers.readableBytes }

  func add() { pendingCount += 1 }

  /// Returns false if an earlier entry has the same id, even if its response is already here.
  func takes(_ id: CallID) -> Bool { ids.insert(id).inserted }

  /// Adds a response, which is an object without a frame.
  func write(_ body: (inout ByteBuffer) -> Void) {
    answers.writeInteger(UInt8(ascii: answerCount == 0 ? "[" : ","))
    answerCount += 1
    body(&answers)
  }

  /// Records the end of one call, or of reading the batch. Returns the batch's response once nothing is pending.
  func finishOne() -> ByteBuffer? {
    pendingCount -= 1
    guard pendingCount == 0 else { return nil }
    answers.writeInteger(UInt8(ascii: "]"))
    return answers
  }
}
