import NIOCore

/// Gathers the answers of a batch, which go out as one array when the last one is there.
final class BatchReply {
  /// Calls of the batch that have not been answered, and one more until the whole batch was read.
  private var pendingCount = 1
  private var answers = ByteBuffer()
  private var answerCount = 0

  var sizeBytes: Int { answers.readableBytes }

  func add() { pendingCount += 1 }

  /// Adds an answer: an object without a frame.
  func write(_ body: (inout ByteBuffer) -> Void) {
    answers.writeInteger(UInt8(ascii: answerCount == 0 ? "[" : ","))
    answerCount += 1
    body(&answers)
  }

  /// One call is done, or the reading of the batch. Answers the reply when nothing is pending any more; `nil` also when the
  /// batch held notifications only, which are not answered.
  func finishOne() -> ByteBuffer? {
    pendingCount -= 1
    guard pendingCount == 0, answerCount > 0 else { return nil }
    answers.writeInteger(UInt8(ascii: "]"))
    return answers
  }
}
