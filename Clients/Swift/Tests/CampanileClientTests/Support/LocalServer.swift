#if os(Linux) || os(macOS)
  import Foundation

  @testable import CampanileClient

  #if canImport(Glibc)
    import Glibc
  #else
    import Darwin
  #endif

  /// A server that accepts connections and leaves the responses to a closure, on a thread for each connection.
  final class LocalServer: Sendable {
    /// One request: its head and body, and the connection.
    struct Exchange: Sendable {
      let head: String
      let descriptor: Int32

      func send(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
          let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
          guard count > 0 else { return }
          rest = rest.dropFirst(count)
        }
      }

      func send(_ text: String) { send(Array(text.utf8)) }

      /// Sends a response with a declared length, or with the given one.
      func respond(
        _ status: String, _ body: [UInt8], headers: String = "Content-Type: application/json\r\n", length: Int? = nil
      ) {
        send("HTTP/1.1 \(status)\r\n\(headers)Content-Length: \(length ?? body.count)\r\n\r\n")
        send(body)
      }

      /// Waits until the client has closed the connection.
      func waitForClose() {
        var byte: UInt8 = 0
        while read(descriptor, &byte, 1) > 0 {}
      }
    }

    private let listener: Int32
    let port: UInt16
    private let heads = Locked<[String]>([])

    /// The heads of the requests received.
    var requests: [String] { heads.withLock { $0 } }
    var url: URL { URL(string: "http://127.0.0.1:\(port)")! }

    init(_ respond: @escaping @Sendable (Exchange) -> Void) throws {
      // A connection that its peer has closed must not end the process.
      signal(SIGPIPE, SIG_IGN)
      #if canImport(Glibc)
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      #else
        listener = socket(AF_INET, SOCK_STREAM, 0)
      #endif
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = inet_addr("127.0.0.1")
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      let descriptor = listener
      let status = withUnsafeMutableBytes(of: &address) { bytes -> Int32 in
        guard let pointer = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self) else { return -1 }
        return bind(descriptor, pointer, length) + listen(descriptor, 16) + getsockname(descriptor, pointer, &length)
      }
      guard status == 0 else { throw RPCError(.unavailable, "no port") }
      port = UInt16(bigEndian: address.sin_port)
      Thread.detachNewThread { [heads] in
        while case let connection = accept(descriptor, nil, nil), connection >= 0 {
          Thread.detachNewThread { Self.serve(connection, heads, respond) }
        }
      }
    }

    deinit {
      shutdown(listener, Int32(SHUT_RDWR))
      close(listener)
    }

    private static func serve(
      _ descriptor: Int32, _ heads: Locked<[String]>, _ respond: @Sendable (Exchange) -> Void
    ) {
      defer { close(descriptor) }
      var buffer: [UInt8] = []
      var chunk = [UInt8](repeating: 0, count: 4096)
      while true {
        let text = String(decoding: buffer, as: UTF8.self)
        if let end = text.range(of: "\r\n\r\n") {
          let head = String(text[..<end.lowerBound])
          let length = head.lowercased().split(separator: "\r\n").first { $0.hasPrefix("content-length:") }
            .flatMap { Int($0.dropFirst(15).trimmingCharacters(in: .whitespaces)) }
          let total = head.utf8.count + 4 + (length ?? 0)
          if buffer.count >= total {
            heads.withLock { $0.append(head) }
            respond(Exchange(head: head, descriptor: descriptor))
            buffer.removeFirst(total)
            continue
          }
        }
        let count = read(descriptor, &chunk, chunk.count)
        guard count > 0 else { return }
        buffer += chunk[..<count]
      }
    }
  }

  extension LocalServer.Exchange {
    func beginStream() {
      send("HTTP/1.1 200 OK\r\nContent-Type: application/connect+json\r\nTransfer-Encoding: chunked\r\n\r\n")
    }

    /// Sends bytes as one chunk.
    func sendChunk(_ bytes: [UInt8]) { send(Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + [13, 10]) }

    func sendEnvelope(_ text: String, flags: UInt8 = 0) {
      var bytes = EnvelopeReader.envelope(Array(text.utf8))
      bytes[0] = flags
      sendChunk(bytes)
    }
  }
#endif
