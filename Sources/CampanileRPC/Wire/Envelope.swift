import CampanileBase
import CampanileCodec

/// A scanned JSON-RPC 2.0 object: its scalar members, and the ranges of its other values in the frame.
struct Envelope {
  enum Identifier {
    /// No `id` member: a notification.
    case absent
    /// `"id": null`, which occurs only in an error about an unreadable request.
    case null
    case call(CallID)
  }

  var id: Identifier = .absent
  /// The bytes between the quotes of `method`, with escapes unresolved. An empty range and `hasMethod == false` if
  /// absent.
  var method: Range<Int> = 0..<0
  var hasMethod = false
  /// Whether the method contains escapes, which must be resolved before a comparison.
  var methodHasEscapes = false
  var params: Range<Int>?
  var result: Range<Int>?
  var error: Range<Int>?
  var metadata: Range<Int>?
  /// The value as sent; zero or negative if the caller's deadline had already passed.
  var timeoutMs: Int64?

  var callID: CallID? { if case .call(let id) = id { id } else { nil } }
  var isResponse: Bool { result != nil || error != nil }
}

/// The reason why a frame, or one entry of a batch, is not a request or a response.
struct EnvelopeFault: Error {
  enum Kind { case notJSON, invalid }
  var kind: Kind
  var message: String
  /// The id, if it could be read before the fault and no open call has it.
  var id: CallID?
  var reason = "ENVELOPE_INVALID"
  var metadata: [String: String] = [:]
  /// Whether the invalid value was read to its end.
  var isWhole = true

  var rpcError: RPCError {
    switch kind {
    case .notJSON:
      RPCError(.invalidArgument, message, reason: "FRAME_NOT_JSON", processed: false, protocolFailure: .parse)
    case .invalid:
      RPCError(
        .invalidArgument, message, reason: reason, errorMetadata: metadata, processed: false,
        protocolFailure: .invalidEnvelope)
    }
  }
}

/// Reads the envelope of a frame and checks the structure of its whole contents, in one pass.
///
/// A forwarder may insert the returned ranges into its own envelope: their contents cannot break out of it. Unknown
/// members are checked and ignored. A known member that occurs twice, even if spelled with escapes, makes the request
/// invalid, so that two readers never disagree on its value.
struct EnvelopeScanner {
  /// The maximum nesting depth of a frame.
  static let depthMax = 64

  private static let members: [StaticString] = [
    "jsonrpc", "id", "method", "params", "result", "error", "timeoutMs", "metadata",
  ]

  /// Scans a whole frame that is one object.
  static func scan(_ bytes: UnsafeRawBufferPointer) throws(EnvelopeFault) -> Envelope {
    var scanner = WireJSONScanner(bytes)
    let envelope: Envelope
    do throws(EnvelopeFault) { envelope = try scanObject(&scanner, bytes, depthMax: depthMax) } catch {
      // Invalid JSON takes precedence over a fault in the first value.
      if error.kind == .invalid, error.isWhole { try finish(&scanner) }
      throw error
    }
    try finish(&scanner)
    return envelope
  }

  /// Returns whether a frame is a batch: its first byte that is not white space opens an array.
  static func isBatch(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var scanner = WireJSONScanner(bytes)
    return scanner.peek() == UInt8(ascii: "[")
  }

  /// Returns the ranges of a batch's entries, each of which is valid JSON.
  static func batchEntries(_ bytes: UnsafeRawBufferPointer, countMax: Int) throws(EnvelopeFault) -> [Range<Int>] {
    var scanner = WireJSONScanner(bytes)
    var entries: [Range<Int>] = []
    _ = scanner.peek()
    scanner.index += 1
    if scanner.peek() == UInt8(ascii: "]") {
      throw EnvelopeFault(kind: .invalid, message: "a batch must have an entry", id: nil)
    }
    while true {
      let start = startOfValue(&scanner)
      try check { () throws(WireJSONScanner.Fault) in try scanner.skipValue(depthMax: depthMax - 1) }
      guard entries.count < countMax else {
        throw EnvelopeFault(kind: .invalid, message: "a batch may have at most \(countMax) entries", id: nil)
      }
      entries.append(start..<scanner.index)
      let next = scanner.peek()
      guard next == UInt8(ascii: ",") || next == UInt8(ascii: "]") else {
        throw notJSON(scanner.fault("a comma or the end of the batch"))
      }
      scanner.index += 1
      if next == UInt8(ascii: "]") { break }
    }
    try finish(&scanner)
    return entries
  }

  private static func startOfValue(_ scanner: inout WireJSONScanner) -> Int {
    _ = scanner.peek()
    return scanner.index
  }

  private static func finish(_ scanner: inout WireJSONScanner) throws(EnvelopeFault) {
    _ = scanner.peek()
    if scanner.index < scanner.end { throw notJSON(scanner.fault("the end of the frame")) }
  }

  @inline(__always)
  private static func check(_ body: () throws(WireJSONScanner.Fault) -> Void) throws(EnvelopeFault) {
    do { try body() } catch { throw notJSON(error) }
  }

  private static func notJSON(_ fault: WireJSONScanner.Fault) -> EnvelopeFault {
    let what =
      switch fault.kind {
      case .syntax: "the frame is not JSON: expected \(fault.expected)"
      case .encoding: "the frame is not UTF-8"
      case .depth: "the frame nests deeper than \(depthMax)"
      }
    // Excessive nesting is valid JSON that the wire protocol rejects, as an invalid request.
    return EnvelopeFault(
      kind: fault.kind == .depth ? .invalid : .notJSON, message: "\(what) at byte \(fault.byteOffset)", id: nil,
      isWhole: false)
  }

  /// Scans one object as an envelope.
  static func scanObject(
    _ scanner: inout WireJSONScanner, _ bytes: UnsafeRawBufferPointer, depthMax: Int
  ) throws(EnvelopeFault) -> Envelope {
    var envelope = Envelope()
    guard scanner.peek() == UInt8(ascii: "{") else {
      let start = scanner
      do { try scanner.skipValue(depthMax: depthMax) } catch { throw notJSON(error) }
      guard start.index < scanner.end else { throw notJSON(start.fault("a value")) }
      throw EnvelopeFault(kind: .invalid, message: "a request must be an object", id: nil)
    }
    scanner.index += 1
    var seen: UInt8 = 0
    var invalid: String?
    var hasVersion = false
    if scanner.peek() == UInt8(ascii: "}") {
      scanner.index += 1
    } else {
      while true {
        let member = try memberIndex(&scanner, bytes)
        let start = startOfValue(&scanner)
        if let member, seen & (1 << UInt8(member)) != 0 {
          invalid = invalid ?? "the member \(members[member]) occurs twice"
        }
        if let member { seen |= 1 << UInt8(member) }
        do { try scanner.skipValue(depthMax: depthMax - 1) } catch {
          var fault = notJSON(error)
          fault.id = envelope.callID
          throw fault
        }
        if let member {
          let range = start..<scanner.index
          if member == 0 {
            hasVersion = true
            if !equals(bytes, range, "\"2.0\"") { invalid = invalid ?? "jsonrpc must be \"2.0\"" }
          } else if let why = take(member, range, bytes, into: &envelope) {
            invalid = invalid ?? why
          }
        }
        let next = scanner.peek()
        guard next == UInt8(ascii: ",") || next == UInt8(ascii: "}") else {
          throw notJSON(scanner.fault("a comma or the end of the object"))
        }
        scanner.index += 1
        if next == UInt8(ascii: "}") { break }
      }
    }
    if !hasVersion { invalid = invalid ?? "jsonrpc is missing" }
    if let invalid = invalid ?? shapeFault(envelope) {
      throw EnvelopeFault(kind: .invalid, message: invalid, id: envelope.callID)
    }
    return envelope
  }

  private static func shapeFault(_ envelope: Envelope) -> String? {
    if envelope.hasMethod {
      if envelope.isResponse { return "a request must not have result or error" }
      if case .null = envelope.id { return "id must not be null in a request" }
      return nil
    }
    guard envelope.isResponse else { return "method is missing" }
    if envelope.result != nil && envelope.error != nil { return "result and error exclude each other" }
    if case .absent = envelope.id { return "id is missing in a response" }
    return nil
  }
}

// MARK: - members

extension EnvelopeScanner {
  /// Reads a member's name and its colon. Returns `nil` for names that the wire protocol does not define.
  @inline(__always)
  private static func memberIndex(
    _ scanner: inout WireJSONScanner, _ bytes: UnsafeRawBufferPointer
  ) throws(EnvelopeFault) -> Int? {
    guard scanner.peek() == UInt8(ascii: "\"") else { throw notJSON(scanner.fault("a member's name")) }
    let start = scanner.index
    let hasEscapes: Bool
    do { hasEscapes = try scanner.skipString() } catch { throw notJSON(error) }
    let range = start + 1..<scanner.index - 1
    guard scanner.peek() == UInt8(ascii: ":") else { throw notJSON(scanner.fault("a colon")) }
    scanner.index += 1
    if hasEscapes {
      // A known name has at most 9 characters; each may be an escape of 6 bytes.
      guard range.count <= 54, let name = resolve(bytes, range) else { return nil }
      return members.firstIndex { $0.description == name }
    }
    switch range.count {
    case 2: return equals(bytes, range, "id") ? 1 : nil
    case 5: return equals(bytes, range, "error") ? 5 : nil
    case 6:
      if equals(bytes, range, "method") { return 2 }
      if equals(bytes, range, "params") { return 3 }
      return equals(bytes, range, "result") ? 4 : nil
    case 7: return equals(bytes, range, "jsonrpc") ? 0 : nil
    case 8: return equals(bytes, range, "metadata") ? 7 : nil
    case 9: return equals(bytes, range, "timeoutMs") ? 6 : nil
    default: return nil
    }
  }

  /// Stores a member's value; returns an error message if it is invalid.
  @inline(__always)
  private static func take(
    _ member: Int, _ range: Range<Int>, _ bytes: UnsafeRawBufferPointer, into envelope: inout Envelope
  ) -> String? {
    let first = bytes[range.lowerBound]
    switch member {
    case 1: return takeID(range, bytes, into: &envelope)
    case 2:
      guard first == UInt8(ascii: "\"") else { return "method must be a string" }
      envelope.hasMethod = true
      envelope.method = range.lowerBound + 1..<range.upperBound - 1
      envelope.methodHasEscapes = contains(bytes, envelope.method, UInt8(ascii: "\\"))
    case 3:
      guard first == UInt8(ascii: "{") else { return "params must be an object" }
      envelope.params = range
    case 4: envelope.result = range
    case 5:
      guard first == UInt8(ascii: "{") else { return "error must be an object" }
      envelope.error = range
    case 6:
      guard let value = integer(bytes, range) else { return "timeoutMs must be an integer" }
      envelope.timeoutMs = value
    default:
      guard first == UInt8(ascii: "{") else { return "metadata must be an object" }
      envelope.metadata = range
    }
    return nil
  }

  /// Returns the id of a call at `range`, or nil for a value that cannot be one.
  static func callID(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> CallID? {
    var envelope = Envelope()
    return takeID(range, bytes, into: &envelope) == nil ? envelope.callID : nil
  }

  private static func takeID(_ range: Range<Int>, _ bytes: UnsafeRawBufferPointer, into envelope: inout Envelope)
    -> String?
  {
    switch bytes[range.lowerBound] {
    case UInt8(ascii: "n"): envelope.id = .null
    case UInt8(ascii: "\""):
      let content = range.lowerBound + 1..<range.upperBound - 1
      guard content.count <= CallID.stringSizeBytesMax * 6, let text = resolve(bytes, content),
        text.utf8.count <= CallID.stringSizeBytesMax
      else { return "id must be at most \(CallID.stringSizeBytesMax) bytes" }
      envelope.id = .call(.string(text))
    default:
      guard let value = integer(bytes, range), value >= 0, value <= CallID.numberMax else {
        return "id must be an integer from 0 to 2^53 - 1 or a string"
      }
      envelope.id = .call(.number(UInt64(value)))
    }
    return nil
  }

  @inline(__always)
  static func equals(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>, _ text: StaticString) -> Bool {
    guard range.count == text.utf8CodeUnitCount else { return false }
    guard let base = bytes.baseAddress else { return range.isEmpty }
    let start = base.assumingMemoryBound(to: UInt8.self) + range.lowerBound
    return JSONBytes.equal(start, text.utf8Start, count: text.utf8CodeUnitCount)
  }

  private static func contains(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>, _ byte: UInt8) -> Bool {
    for at in range where bytes[at] == byte { return true }
    return false
  }

  /// Returns an integer in plain digits (no fraction, no exponent), or `nil`.
  static func integer(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> Int64? {
    var index = range.lowerBound
    let negative = index < range.upperBound && bytes[index] == UInt8(ascii: "-")
    if negative { index += 1 }
    guard index < range.upperBound, range.upperBound - index <= 18 else { return nil }
    var value: Int64 = 0
    while index < range.upperBound {
      let digit = bytes[index] &- 0x30
      guard digit < 10 else { return nil }
      value = value &* 10 &+ Int64(digit)
      index += 1
    }
    return negative ? -value : value
  }

  /// Returns a string's content with its escapes resolved; `nil` if it contains a lone surrogate.
  static func resolve(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> String? {
    var out: [UInt8] = []
    out.reserveCapacity(range.count)
    var index = range.lowerBound
    while index < range.upperBound {
      let b = bytes[index]
      guard b == UInt8(ascii: "\\") else {
        out.append(b)
        index += 1
        continue
      }
      switch bytes[index + 1] {
      case UInt8(ascii: "b"): out.append(8)
      case UInt8(ascii: "f"): out.append(12)
      case UInt8(ascii: "n"): out.append(10)
      case UInt8(ascii: "r"): out.append(13)
      case UInt8(ascii: "t"): out.append(9)
      case UInt8(ascii: "u"):
        guard let scalar = unicodeEscape(bytes, &index, range.upperBound) else { return nil }
        out.append(contentsOf: String(Character(scalar)).utf8)
        continue
      case let same: out.append(same)
      }
      index += 2
    }
    return String(decoding: out, as: UTF8.self)
  }

  /// Reads `\uXXXX`, or a pair of them for a scalar beyond the basic plane, and moves `index` past it.
  private static func unicodeEscape(_ bytes: UnsafeRawBufferPointer, _ index: inout Int, _ end: Int) -> Unicode.Scalar?
  {
    func unit(at start: Int) -> UInt32? {
      guard start + 6 <= end, bytes[start] == UInt8(ascii: "\\"), bytes[start + 1] == UInt8(ascii: "u") else {
        return nil
      }
      var value: UInt32 = 0
      for at in start + 2..<start + 6 {
        guard let digit = WireJSONScanner.hexValue(bytes[at]) else { return nil }
        value = value << 4 | UInt32(digit)
      }
      return value
    }
    guard let first = unit(at: index) else { return nil }
    guard (0xD800...0xDBFF).contains(first) else {
      index += 6
      return Unicode.Scalar(first)
    }
    guard let second = unit(at: index + 6), (0xDC00...0xDFFF).contains(second) else { return nil }
    index += 12
    return Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
  }
}
