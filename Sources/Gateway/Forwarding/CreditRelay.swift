import CampanileRPC

/// Passes credit from the receiver of a stream to its sender, which bounds the messages buffered between them.
///
/// The sender is never granted more credit than the receiver has granted, and at most `window`. Small grants are
/// combined, because each is a frame.
enum CreditRelay {
  /// Maximum credit of the sender, whatever the receiver grants.
  static let window = StreamCredit(messages: 64, bytes: StreamCredit.initial.bytes)
  /// The smallest grants, unless the sender has almost no credit.
  private static let (messagesMin, bytesMin) = (16, 256 * 1024)
  /// The smallest grant of bytes to a sender with any credit: the frames of both connections differ by a few bytes.
  private static let lowBytesMin = 16 * 1024

  /// Returns the credit to grant the sender now; nil for none.
  ///
  /// - Parameters:
  ///   - available: The receiver's credit beyond the messages that wait here.
  ///   - outstanding: The sender's credit.
  static func grant(available: StreamCredit, outstanding: StreamCredit) -> StreamCredit? {
    let target = StreamCredit(
      messages: min(available.messages, window.messages), bytes: min(available.bytes, window.bytes))
    let missing = outstanding.missing(to: target)
    let isDue =
      missing.messages >= messagesMin || missing.messages > 0 && outstanding.messages < messagesMin
      || missing.bytes >= bytesMin || missing.bytes >= lowBytesMin && outstanding.bytes < bytesMin
      || target.bytes > 0 && outstanding.bytes <= 0
    return isDue ? missing : nil
  }
}

/// Messages that wait for the receiver of a stream, in order.
struct WaitingMessages {
  private var messages: [[UInt8]] = []
  private var head = 0
  private(set) var sizeBytes = 0

  var isEmpty: Bool { head == messages.count }
  var first: [UInt8]? { isEmpty ? nil : messages[head] }
  /// The credit that the messages need, without their frames.
  var credit: StreamCredit { StreamCredit(messages: messages.count - head, bytes: sizeBytes) }

  mutating func append(_ message: UnsafeRawBufferPointer) {
    messages.append([UInt8](message))
    sizeBytes += message.count
  }

  mutating func removeFirst() {
    sizeBytes -= messages[head].count
    messages[head] = []
    head += 1
    guard isEmpty || head >= CreditRelay.window.messages else { return }
    messages.removeFirst(head)
    head = 0
  }
}
