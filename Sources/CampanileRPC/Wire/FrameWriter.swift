import CampanileBase
import NIOCore

/// Frames of the wire protocol: a big-endian length of four bytes, followed by the JSON.
extension ByteBuffer {
  /// Begins a frame and returns its start. `endFrame` writes the length.
  @inline(__always)
  mutating func beginFrame() -> Int {
    let start = writerIndex
    writeInteger(UInt32(0))
    return start
  }

  /// Ends the frame that `beginFrame` started. Returns the length of its JSON.
  @inline(__always) @discardableResult
  mutating func endFrame(_ start: Int) -> Int {
    let length = writerIndex - start - 4
    setInteger(UInt32(truncatingIfNeeded: length), at: start)
    return length
  }

  mutating func writeID(_ id: CallID) {
    switch id {
    case .number(let number): writeDecimal(number)
    case .string(let text): writeJSONString(text)
    }
  }

  /// Writes decimal digits without an allocation.
  mutating func writeDecimal(_ value: UInt64) {
    if value < 10 {
      writeInteger(UInt8(ascii: "0") + UInt8(value))
      return
    }
    var digits: (UInt64, UInt64, UInt64) = (0, 0, 0)
    withUnsafeMutableBytes(of: &digits) { space in
      var at = space.count
      var rest = value
      repeat {
        at -= 1
        space[at] = UInt8(ascii: "0") + UInt8(rest % 10)
        rest /= 10
      } while rest > 0
      _ = writeBytes(UnsafeRawBufferPointer(rebasing: space[at...]))
    }
  }

  mutating func writeDecimal(_ value: Int64) {
    if value < 0 { writeInteger(UInt8(ascii: "-")) }
    writeDecimal(value.magnitude)
  }

  /// Writes a JSON string with its quotes, escaping the characters that RFC 8259 section 7 requires.
  mutating func writeJSONString(_ text: String) {
    writeInteger(UInt8(ascii: "\""))
    var text = text
    text.withUTF8 { utf8 in
      var clean = 0
      for index in 0..<utf8.count {
        let b = utf8[index]
        guard b < 0x20 || b == 0x22 || b == 0x5C else { continue }
        writeBytes(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(utf8)[clean..<index]))
        clean = index + 1
        writeEscape(b)
      }
      writeBytes(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(utf8)[clean...]))
    }
    writeInteger(UInt8(ascii: "\""))
  }

  private mutating func writeEscape(_ b: UInt8) {
    switch b {
    case 0x22: writeStaticString("\\\"")
    case 0x5C: writeStaticString("\\\\")
    case 0x0A: writeStaticString("\\n")
    case 0x0D: writeStaticString("\\r")
    case 0x09: writeStaticString("\\t")
    default:
      writeStaticString("\\u00")
      let digits: StaticString = "0123456789abcdef"
      writeInteger(digits.utf8Start[Int(b >> 4)])
      writeInteger(digits.utf8Start[Int(b & 15)])
    }
  }

  mutating func writeMetadata(_ metadata: Metadata) {
    writeInteger(UInt8(ascii: "{"))
    var written: [String] = []
    for entry in metadata.entries where !written.contains(entry.key) {
      if !written.isEmpty { writeInteger(UInt8(ascii: ",")) }
      written.append(entry.key)
      writeJSONString(entry.key)
      writeInteger(UInt8(ascii: ":"))
      let values = metadata.values(entry.key)
      if values.count == 1 {
        writeJSONString(entry.value)
      } else {
        for (index, value) in values.enumerated() {
          writeInteger(UInt8(ascii: index == 0 ? "[" : ","))
          writeJSONString(value)
        }
        writeInteger(UInt8(ascii: "]"))
      }
    }
    writeInteger(UInt8(ascii: "}"))
  }
}

// MARK: - whole frames

extension ByteBuffer {
  /// Writes a request. `params` are the bytes of an object, or empty for none.
  mutating func writeRequestFrame(
    id: CallID?, method: String, params: UnsafeRawBufferPointer, timeoutMs: Int64?, metadata: Metadata
  ) {
    let frame = beginFrame()
    writeRequestHead(id: id, method: method, timeoutMs: timeoutMs, metadata: metadata)
    if !params.isEmpty {
      writeStaticString(",\"params\":")
      writeBytes(params)
    }
    writeInteger(UInt8(ascii: "}"))
    endFrame(frame)
  }

  /// Writes a request except for its params and its closing brace.
  mutating func writeRequestHead(id: CallID?, method: String, timeoutMs: Int64?, metadata: Metadata) {
    writeStaticString("{\"jsonrpc\":\"2.0\"")
    if let id {
      writeStaticString(",\"id\":")
      writeID(id)
    }
    writeStaticString(",\"method\":")
    writeJSONString(method)
    if let timeoutMs {
      writeStaticString(",\"timeoutMs\":")
      writeDecimal(timeoutMs)
    }
    if !metadata.isEmpty {
      writeStaticString(",\"metadata\":")
      writeMetadata(metadata)
    }
  }

  /// Writes a response object without a frame.
  @inline(__always)
  mutating func writeResult(id: CallID, result: UnsafeRawBufferPointer) {
    writeStaticString("{\"jsonrpc\":\"2.0\",\"id\":")
    writeID(id)
    writeStaticString(",\"result\":")
    if result.isEmpty { writeStaticString("{}") } else { writeBytes(result) }
    writeInteger(UInt8(ascii: "}"))
  }

  /// Writes an error response without a frame. `id` is `nil` if the request's id could not be read.
  mutating func writeError(id: CallID?, _ error: RPCError) {
    writeStaticString("{\"jsonrpc\":\"2.0\",\"id\":")
    if let id { writeID(id) } else { writeStaticString("null") }
    writeStaticString(",\"error\":")
    writeErrorObject(error)
    writeInteger(UInt8(ascii: "}"))
  }

  mutating func writeResultFrame(id: CallID, result: UnsafeRawBufferPointer) {
    let frame = beginFrame()
    writeResult(id: id, result: result)
    endFrame(frame)
  }

  mutating func writeErrorFrame(id: CallID?, _ error: RPCError) {
    let frame = beginFrame()
    writeError(id: id, error)
    endFrame(frame)
  }

  /// Writes a response with an unchanged error object.
  mutating func writeErrorFrame(id: CallID, rawError: UnsafeRawBufferPointer) {
    let frame = beginFrame()
    writeError(id: id, rawError: rawError)
    endFrame(frame)
  }

  mutating func writeError(id: CallID, rawError: UnsafeRawBufferPointer) {
    writeStaticString("{\"jsonrpc\":\"2.0\",\"id\":")
    writeID(id)
    writeStaticString(",\"error\":")
    writeBytes(rawError)
    writeInteger(UInt8(ascii: "}"))
  }

  /// Writes `rpc.message`, one message of a stream. Returns the length of the frame's JSON.
  @discardableResult
  mutating func writeMessageFrame(id: CallID, message: UnsafeRawBufferPointer) -> Int {
    let frame = beginFrame()
    writeStaticString("{\"jsonrpc\":\"2.0\",\"method\":\"rpc.message\",\"params\":{\"id\":")
    writeID(id)
    writeStaticString(",\"message\":")
    if message.isEmpty { writeStaticString("{}") } else { writeBytes(message) }
    writeStaticString("}}")
    return endFrame(frame)
  }

  /// Writes `rpc.cancel` or `rpc.end`.
  mutating func writeCallControlFrame(_ method: StaticString, id: CallID) {
    let frame = beginFrame()
    writeStaticString("{\"jsonrpc\":\"2.0\",\"method\":\"")
    writeStaticString(method)
    writeStaticString("\",\"params\":{\"id\":")
    writeID(id)
    writeStaticString("}}")
    endFrame(frame)
  }

  /// Writes `rpc.credit` for a call. Numbers that are 0 are omitted.
  mutating func writeCreditFrame(id: CallID, _ credit: StreamCredit) {
    let frame = beginFrame()
    writeStaticString("{\"jsonrpc\":\"2.0\",\"method\":\"rpc.credit\",\"params\":{\"id\":")
    writeID(id)
    if credit.messages > 0 {
      writeStaticString(",\"messages\":")
      writeDecimal(Int64(credit.messages))
    }
    if credit.bytes > 0 {
      writeStaticString(",\"bytes\":")
      writeDecimal(Int64(credit.bytes))
    }
    writeStaticString("}}")
    endFrame(frame)
  }

  /// Writes `rpc.credit` for the connection.
  mutating func writeConnectionCreditFrame(bytes: Int) {
    let frame = beginFrame()
    writeStaticString("{\"jsonrpc\":\"2.0\",\"method\":\"rpc.credit\",\"params\":{\"bytes\":")
    writeDecimal(Int64(bytes))
    writeStaticString("}}")
    endFrame(frame)
  }

  /// Writes `rpc.drain`: no new calls; those read before finish.
  mutating func writeDrainFrame() {
    let frame = beginFrame()
    writeStaticString("{\"jsonrpc\":\"2.0\",\"method\":\"rpc.drain\"}")
    endFrame(frame)
  }
}
