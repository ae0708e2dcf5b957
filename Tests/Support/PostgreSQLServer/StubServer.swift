import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// A server on loopback that reports a version of PostgreSQL. It has as much of the protocol as libpq needs to connect.
public final class StubServer: Sendable {
  private static let protocolVersion = 196_608

  public let port: Int
  private let version: String
  private let listener: Int32

  /// Starts a server.
  ///
  /// - Parameter version: The version that it reports, such as `13.12`.
  public init(version: String) throws {
    self.version = version
    (listener, port) = try Loopback.listen()
    Thread.detachNewThread { [listener, weak self] in
      while true {
        let client = accept(listener, nil, nil)
        guard client >= 0 else { break }
        _ = fcntl(client, F_SETFD, FD_CLOEXEC)
        self?.serve(client)
        _ = Glibc.close(client)
      }
      _ = Glibc.close(listener)
    }
  }

  /// Stops listening.
  public func close() { shutdown(listener, Int32(SHUT_RDWR)) }

  private func serve(_ client: Int32) {
    // Requests for encryption precede the start; both have no type.
    while let head = Self.read(client, 8) {
      guard Self.read(client, Self.integer(head[..<4]) - 8) != nil else { return }
      if Self.integer(head[4...]) == Self.protocolVersion { break }
      guard Loopback.writeAll(client, [UInt8(ascii: "N")]) else { return }
    }
    let parameters = [("server_version", version), ("server_encoding", "UTF8"), ("client_encoding", "UTF8")]
    let greeting =
      Self.message("R", Self.bytes(0, 4)) + parameters.flatMap { Self.message("S", Self.text($0.0) + Self.text($0.1)) }
      + Self.ready
    guard Loopback.writeAll(client, greeting[...]) else { return }
    while let head = Self.read(client, 5), head[0] == UInt8(ascii: "Q"),
      let query = Self.read(client, Self.integer(head[1...]) - 4)
    {
      let isRecovery = String(decoding: query, as: UTF8.self).contains("pg_is_in_recovery")
      guard Loopback.writeAll(client, Self.answer(isRecovery ? "f" : "off")[...]) else { return }
    }
  }

  /// A result with one text.
  private static func answer(_ value: String) -> [UInt8] {
    let column = text("value") + bytes(0, 4) + bytes(0, 2) + bytes(25, 4) + bytes(-1, 2) + bytes(-1, 4) + bytes(0, 2)
    return message("T", bytes(1, 2) + column)
      + message("D", bytes(1, 2) + bytes(value.utf8.count, 4) + Array(value.utf8))
      + message("C", text("SELECT 1")) + ready
  }

  private static let ready = message("Z", [UInt8(ascii: "I")])

  private static func message(_ type: Unicode.Scalar, _ body: [UInt8]) -> [UInt8] {
    [UInt8(ascii: type)] + bytes(body.count + 4, 4) + body
  }

  private static func text(_ text: String) -> [UInt8] { Array(text.utf8) + [0] }

  /// A number in network byte order.
  private static func bytes(_ number: Int, _ count: Int) -> [UInt8] {
    (0..<count).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
  }

  private static func integer(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }

  /// Reads exactly `count` bytes; nil at the end of the connection.
  private static func read(_ client: Int32, _ count: Int) -> [UInt8]? {
    guard (0...(1 << 16)).contains(count) else { return nil }
    var bytes = [UInt8](repeating: 0, count: count)
    var done = 0
    while done < count {
      let next = bytes[done...].withUnsafeMutableBytes { Glibc.read(client, $0.baseAddress, $0.count) }
      guard next > 0 else { return nil }
      done += next
    }
    return bytes
  }
}
