/// The credit of one direction of a stream: the messages and bytes that its sender may still send.
///
/// A message takes one message and the bytes of its frame's JSON. It may be sent while both numbers are positive. A
/// message longer than the rest of the byte credit is therefore never stuck: the byte credit becomes negative once, by
/// less than a frame.
public struct StreamCredit: Sendable, Hashable {
  /// The maximum of either number, and of a grant: 2^31 − 1.
  static var max: Int { (1 << 31) - 1 }
  public static var zero: StreamCredit { StreamCredit(messages: 0, bytes: 0) }
  /// The credit with which a stream starts, unless its receiver announces more in `rpc.hello`.
  public static var initial: StreamCredit { StreamCredit(messages: 32, bytes: 1024 * 1024) }

  // Two numbers of 32 bits, so that a call's credit fits into one word.
  private var messageCount: Int32
  private var byteCount: Int32

  /// Creates a credit. Numbers that exceed 32 bits are clamped.
  public init(messages: Int, bytes: Int) {
    messageCount = Int32(clamping: messages)
    byteCount = Int32(clamping: bytes)
  }

  public var messages: Int { Int(messageCount) }
  /// The number of bytes; negative after a message longer than the rest.
  public var bytes: Int { Int(byteCount) }
  /// Whether a message of any permitted length may be sent.
  @inline(__always) public var allowsMessage: Bool { messageCount > 0 && byteCount > 0 }

  /// Takes the credit for one message of `sizeBytes` bytes.
  @inline(__always)
  mutating func take(bytes sizeBytes: Int) {
    self = StreamCredit(messages: messages - 1, bytes: bytes - sizeBytes)
  }

  /// Adds a grant. Returns false, and changes nothing, if the sum exceeds the maximum.
  mutating func add(_ grant: StreamCredit) -> Bool {
    let sum = (messages: messages + grant.messages, bytes: bytes + grant.bytes)
    guard sum.messages <= Self.max, sum.bytes <= Self.max else { return false }
    self = StreamCredit(messages: sum.messages, bytes: sum.bytes)
    return true
  }

  /// Returns the part of a grant that fits below the maximum; negative parts become 0.
  func fitting(_ grant: StreamCredit) -> StreamCredit {
    func part(_ number: Int, _ present: Int) -> Int { Swift.max(0, min(number, Self.max - Swift.max(present, 0))) }
    return StreamCredit(messages: part(grant.messages, messages), bytes: part(grant.bytes, bytes))
  }

  /// Returns the rest after `other` is taken.
  public func reduced(by other: StreamCredit) -> StreamCredit {
    StreamCredit(messages: messages - other.messages, bytes: bytes - other.bytes)
  }

  /// Returns the credit that must be added to reach `target` in each number; 0 where it is reached.
  public func missing(to target: StreamCredit) -> StreamCredit {
    StreamCredit(
      messages: Swift.max(0, target.messages - messages), bytes: Swift.max(0, target.bytes - bytes))
  }

  /// Returns a credit with the higher of both numbers each.
  func raised(to other: StreamCredit) -> StreamCredit {
    StreamCredit(messages: Swift.max(messages, other.messages), bytes: Swift.max(bytes, other.bytes))
  }
}

/// The credit of consumed messages, collected until it is worth a frame.
///
/// Each receiver of a stream has one. The part that is not granted yet is always smaller than half of the initial
/// credit, so a sender whose messages were all consumed has credit.
public struct ConsumedCredit: Sendable {
  /// Half of the initial credit, so that the sender need not wait.
  private static var stepMessages: Int { 16 }
  private static var stepBytes: Int { 512 * 1024 }

  private var consumed = StreamCredit.zero

  public init() {}

  /// Records that a message was consumed.
  ///
  /// - Parameter sizeBytes: The number that was received with the message.
  /// - Returns: The credit to grant now; nil if it waits for further messages.
  @inline(__always)
  public mutating func consumed(bytes sizeBytes: Int) -> StreamCredit? {
    consumed = StreamCredit(messages: consumed.messages + 1, bytes: consumed.bytes + sizeBytes)
    guard consumed.messages >= Self.stepMessages || consumed.bytes >= Self.stepBytes else { return nil }
    let grant = consumed
    consumed = .zero
    return grant
  }
}

/// The credit of a connection: the bytes of streamed messages that its client may send, of all calls together.
///
/// It bounds the messages that wait for the handlers of the connection. Messages of calls that have ended count as
/// well, because the client cannot know when its frames were read.
struct ConnectionCredit {
  /// The credit of a client that did not learn another one in `rpc.hello`.
  static var initialBytes: Int { 64 * 1024 * 1024 }
  /// The smallest grant worth a frame.
  private static var grantBytesMin: Int { 64 * 1024 }

  private(set) var bytes: Int

  init(bytes: Int) { self.bytes = bytes }

  /// Takes the credit for a message. Returns false if there was none.
  mutating func take(bytes sizeBytes: Int) -> Bool {
    let isCovered = bytes > 0
    bytes -= sizeBytes
    return isCovered
  }

  /// Adds a grant. Returns false, and changes nothing, if the sum exceeds the maximum of a credit.
  mutating func add(_ grantBytes: Int) -> Bool {
    guard bytes + grantBytes <= StreamCredit.max else { return false }
    bytes += grantBytes
    return true
  }

  /// Returns the bytes to grant now, so that the credit and the waiting messages add up to `sizeBytes`; 0 for none.
  ///
  /// Grants once half of the initial credit was taken and more is missing than is left. If slow handlers hold most of
  /// the credit, the other calls therefore continue with smaller grants.
  @inline(__always)
  mutating func grant(upTo sizeBytes: Int, queuedBytes: Int) -> Int {
    guard bytes <= Self.initialBytes / 2 else { return 0 }
    let missing = min(sizeBytes, StreamCredit.max) - queuedBytes - bytes
    guard missing >= max(bytes, Self.grantBytesMin) else { return 0 }
    bytes += missing
    return missing
  }
}
