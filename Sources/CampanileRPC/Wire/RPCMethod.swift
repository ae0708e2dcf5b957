/// The wire protocol's own methods, whose names have the prefix that JSON-RPC 2.0 reserves for extensions.
enum RPCMethod {
  case hello, prove, ping, cancel, message, end, credit
  /// Any other name with the prefix `rpc.`, including `rpc.drain`, which only a server sends.
  case unknown

  /// Creates a method; `nil` for ordinary methods.
  @inline(__always)
  init?(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) {
    guard range.count >= 4, bytes[range.lowerBound] == UInt8(ascii: "r"),
      EnvelopeScanner.equals(bytes, range.lowerBound..<range.lowerBound + 4, "rpc.")
    else { return nil }
    self = Self.named(bytes, range.lowerBound + 4..<range.upperBound)
  }

  private static func named(_ bytes: UnsafeRawBufferPointer, _ name: Range<Int>) -> RPCMethod {
    if EnvelopeScanner.equals(bytes, name, "message") { return .message }
    if EnvelopeScanner.equals(bytes, name, "credit") { return .credit }
    if EnvelopeScanner.equals(bytes, name, "end") { return .end }
    if EnvelopeScanner.equals(bytes, name, "cancel") { return .cancel }
    if EnvelopeScanner.equals(bytes, name, "ping") { return .ping }
    if EnvelopeScanner.equals(bytes, name, "hello") { return .hello }
    if EnvelopeScanner.equals(bytes, name, "prove") { return .prove }
    return .unknown
  }
}

/// The params of `rpc.message`, `rpc.end`, `rpc.credit` and `rpc.cancel`.
struct StreamParams {
  var id: CallID?
  var message: Range<Int>?
  /// The grant of `rpc.credit`; nil without one, and −1 if it is not an integer.
  var messages: Int64?
  var bytes: Int64?

  /// Reads the params; `nil` if the range is not an object or a member occurs twice.
  init?(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) {
    guard var members = JSONObjectReader(bytes, range) else { return nil }
    while let member = members.next() {
      switch member.name {
      case "id":
        guard id == nil, let read = Self.callID(bytes, member.value) else { return nil }
        id = read
      case "message":
        guard message == nil else { return nil }
        message = member.value
      case "messages":
        guard messages == nil else { return nil }
        messages = JSONObjectReader.integer(bytes, member.value) ?? -1
      case "bytes":
        guard self.bytes == nil else { return nil }
        self.bytes = JSONObjectReader.integer(bytes, member.value) ?? -1
      default: break
      }
    }
  }

  /// The grant of `rpc.credit`; nil unless both numbers are 0 to 2^31 − 1, and one of them is positive.
  var grant: StreamCredit? {
    let (messages, bytes) = (messages ?? 0, bytes ?? 0)
    let range = 0...Int64(StreamCredit.max)
    guard range.contains(messages), range.contains(bytes), messages > 0 || bytes > 0 else { return nil }
    return StreamCredit(messages: Int(messages), bytes: Int(bytes))
  }

  static func callID(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> CallID? {
    if let number = JSONObjectReader.integer(bytes, range) {
      return number >= 0 && number <= CallID.numberMax ? .number(UInt64(number)) : nil
    }
    guard let text = JSONObjectReader.string(bytes, range), text.utf8.count <= CallID.stringSizeBytesMax else {
      return nil
    }
    return .string(text)
  }
}
