internal import NIOCore

/// A server's limits and proofs from its response to `rpc.hello`.
struct ServerHello: Equatable {
  static let requestID = "hello"
  static let proveID = "prove"

  /// The version that the server chose.
  var version: String?
  /// The longest frame that the server accepts.
  var frameBytesMax = 4 * 1024 * 1024
  /// The number of calls that the server runs concurrently for this connection.
  var openCallsMax = 100
  /// The number of control frames in `floodWindowMs` after which the server closes the connection.
  var controlFramesMax = 200
  var floodWindowMs: Int64 = 30_000
  /// The credit with which the client may begin to send a stream.
  var streamCredit = StreamCredit.initial
  /// The bytes of streamed messages that the client may send before the server grants more, of all calls.
  var connectionCreditBytes = ConnectionCredit.initialBytes
  /// The server's contribution to the mutual proof of the internal token.
  var nonce: String?
  var proofs: [String] = []
  /// The maximum number of proofs to check; a server sends one for each of its tokens.
  private static let proofsMax = 16

  init() {}

  init(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) {
    guard var members = JSONObjectReader(bytes, range) else { return }
    while let member = members.next() {
      switch member.name {
      case "version": version = JSONObjectReader.string(bytes, member.value)
      case "nonce": nonce = JSONObjectReader.string(bytes, member.value)
      case "proofs":
        let elements = JSONObjectReader.elements(bytes, member.value, countMax: Self.proofsMax) ?? []
        proofs = elements.compactMap { JSONObjectReader.string(bytes, $0) }
      case "streamCredit": streamCredit = Self.credit(bytes, member.value)
      default: break
      }
      guard let value = JSONObjectReader.integer(bytes, member.value) else { continue }
      switch member.name {
      case "maxFrameBytes": frameBytesMax = Int(min(max(value, 64), Int64(WireLimits.frameBytesCeiling)))
      case "maxConcurrentCalls": openCallsMax = Int(min(max(value, 1), 1_000_000))
      case "maxControlFrames": controlFramesMax = Int(min(max(value, 2), 1_000_000))
      case "floodWindowMs": floodWindowMs = min(max(value, 1), 3_600_000)
      case "connectionCredit": connectionCreditBytes = Int(min(max(value, 1), Int64(StreamCredit.max)))
      default: break
      }
    }
  }

  private static func credit(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> StreamCredit {
    let params = StreamParams(bytes, range)
    func number(_ value: Int64?, or other: Int) -> Int {
      Int(min(max(value ?? Int64(other), 1), Int64(StreamCredit.max)))
    }
    return StreamCredit(
      messages: number(params?.messages, or: StreamCredit.initial.messages),
      bytes: number(params?.bytes, or: StreamCredit.initial.bytes))
  }
}

extension ByteBuffer {
  mutating func writeHelloFrame(
    agent: String, frameBytesMax: Int, streamCredit: StreamCredit, token: String?, nonce: String?
  ) {
    let frame = beginFrame()
    writeRequestHead(id: .string(ServerHello.requestID), method: "rpc.hello", timeoutMs: nil, metadata: [:])
    writeStaticString(",\"params\":{\"versions\":[")
    writeJSONString(HelloParams.version)
    writeStaticString("],\"agent\":")
    writeJSONString(agent)
    writeStaticString(",\"capabilities\":[],\"maxFrameBytes\":")
    writeDecimal(Int64(frameBytesMax))
    writeStaticString(",\"streamCredit\":{\"messages\":")
    writeDecimal(Int64(streamCredit.messages))
    writeStaticString(",\"bytes\":")
    writeDecimal(Int64(streamCredit.bytes))
    writeInteger(UInt8(ascii: "}"))
    if let token {
      writeStaticString(",\"token\":")
      writeJSONString(token)
    }
    if let nonce {
      writeStaticString(",\"nonce\":")
      writeJSONString(nonce)
    }
    writeStaticString("}}")
    endFrame(frame)
  }

  mutating func writeProveFrame(_ proof: String) {
    let frame = beginFrame()
    writeRequestHead(id: .string(ServerHello.proveID), method: "rpc.prove", timeoutMs: nil, metadata: [:])
    writeStaticString(",\"params\":{\"proof\":")
    writeJSONString(proof)
    writeStaticString("}}")
    endFrame(frame)
  }

  mutating func writePingFrame() {
    writeRequestFrame(
      id: .string("ping"), method: "rpc.ping", params: UnsafeRawBufferPointer(start: nil, count: 0), timeoutMs: nil,
      metadata: [:])
  }

  /// Writes a call's request. `rawMetadata` are members of the metadata object, written unchanged after those of
  /// `metadata`. Returns the length of the frame's JSON.
  @inline(__always)
  mutating func writeCallFrame(
    id: UInt64, method: String, params: UnsafeRawBufferPointer, timeoutMs: Int64?, metadata: Metadata,
    rawMetadata: UnsafeRawBufferPointer
  ) -> Int {
    let frame = beginFrame()
    writeRequestHead(
      id: .number(id), method: method, timeoutMs: timeoutMs, metadata: rawMetadata.isEmpty ? metadata : [:])
    if !rawMetadata.isEmpty {
      writeStaticString(",\"metadata\":")
      writeMetadata(metadata)
      if !metadata.isEmpty {
        setInteger(UInt8(ascii: ","), at: writerIndex - 1)
      } else {
        moveWriterIndex(to: writerIndex - 1)
      }
      writeBytes(rawMetadata)
      writeInteger(UInt8(ascii: "}"))
    }
    if !params.isEmpty {
      writeStaticString(",\"params\":")
      writeBytes(params)
    }
    writeInteger(UInt8(ascii: "}"))
    return endFrame(frame)
  }
}
