import Foundation
import NIOCore
import NIOPosix

/// A connection that sends raw bytes, including invalid requests, and collects the received bytes.
final class HTTPWire: Sendable {
  struct Answer: Sendable {
    var status = 0
    var headers: [String: String] = [:]
    var body = ""
    var json: [String: Any] {
      (try? JSONSerialization.jsonObject(with: Data(body.utf8))) as? [String: Any] ?? [:]
    }
    /// The status name of an AIP-193 error.
    var errorStatus: String? { (json["error"] as? [String: Any])?["status"] as? String }
    /// The reason of a REST or Connect error.
    var reason: String? {
      let error = json["error"] as? [String: Any] ?? json
      for detail in error["details"] as? [[String: Any]] ?? [] {
        if let reason = detail["reason"] as? String { return reason }
        if let reason = (detail["debug"] as? [String: Any])?["reason"] as? String { return reason }
      }
      return nil
    }
  }

  let channel: any Channel
  private let bytes: AsyncThrowingStream<ByteBuffer, any Error>

  init(port: Int) async throws {
    let (stream, continuation) = AsyncThrowingStream.makeStream(of: ByteBuffer.self)
    bytes = stream
    channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(Collector(continuation))
        }
      }
      .connect(host: "127.0.0.1", port: port).get()
  }

  func send(_ text: String) async throws { try await channel.writeAndFlush(ByteBuffer(string: text)).get() }
  func send(_ bytes: [UInt8]) async throws { try await channel.writeAndFlush(ByteBuffer(bytes: bytes)).get() }
  func close() async { try? await channel.close() }

  /// Reads until the peer closes the connection or `isEnough` returns true.
  func read(_ isEnough: (String) -> Bool = { _ in false }) async throws -> String {
    var text = ""
    for try await part in bytes {
      text += String(buffer: part)
      if isEnough(text) { break }
    }
    return text
  }

  private final class Collector: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let continuation: AsyncThrowingStream<ByteBuffer, any Error>.Continuation
    init(_ continuation: AsyncThrowingStream<ByteBuffer, any Error>.Continuation) { self.continuation = continuation }
    func channelRead(context: ChannelHandlerContext, data: NIOAny) { continuation.yield(unwrapInboundIn(data)) }
    func channelInactive(context: ChannelHandlerContext) { continuation.finish() }
    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
  }

  /// Sends one request on a new connection and reads the response until the connection ends.
  static func exchange(port: Int, raw: String) async throws -> Answer {
    let wire = try await HTTPWire(port: port)
    try await wire.send(raw)
    let text = try await wire.read()
    await wire.close()
    return parse(text)
  }

  static func exchange(
    port: Int, _ method: String, _ target: String, _ headers: [String: String] = [:], body: String? = nil
  ) async throws -> Answer {
    var text = "\(method) \(target) HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n"
    for (name, value) in headers { text += "\(name): \(value)\r\n" }
    if let body { text += "Content-Length: \(body.utf8.count)\r\n" }
    return try await exchange(port: port, raw: text + "\r\n" + (body ?? ""))
  }

  /// Parses the first response in `text` and joins its chunks.
  static func parse(_ text: String) -> Answer {
    var answer = Answer()
    guard let end = text.range(of: "\r\n\r\n") else { return answer }
    let lines = text[..<end.lowerBound].components(separatedBy: "\r\n")
    answer.status = Int(lines[0].split(separator: " ").dropFirst().first ?? "") ?? 0
    for line in lines.dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1)
      if parts.count == 2 { answer.headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces) }
    }
    var rest = Array(text[end.upperBound...].utf8)[...]
    guard answer.headers["transfer-encoding"] == "chunked" else {
      answer.body = String(decoding: rest, as: UTF8.self)
      return answer
    }
    var body: [UInt8] = []
    while let line = rest.firstIndex(of: 0x0D),
      let count = Int(String(decoding: rest[..<line], as: UTF8.self), radix: 16),
      count > 0, rest.count >= line - rest.startIndex + 2 + count
    {
      let start = line + 2
      body += rest[start..<start + count]
      rest = rest[(start + count)...].dropFirst(2)
    }
    answer.body = String(decoding: body, as: UTF8.self)
    return answer
  }
}
