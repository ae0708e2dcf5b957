import CampanileRPC
import Foundation

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A connection with blocking system calls, so that every exchange does the same work.
final class Link {
  private let descriptor: Int32
  /// The text after the id in a successful response; the id has two digits.
  private static let success = Array("\"result\":".utf8)
  private static let idEnd = "{\"jsonrpc\":\"2.0\",\"id\":10,".utf8.count
  private var bytes = [UInt8](repeating: 0, count: 65_536)

  /// Connects to a local port and sends rpc.hello.
  init(port: Int, token: String) throws {
    #if canImport(Darwin)
      descriptor = socket(AF_INET, SOCK_STREAM, 0)
    #else
      descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #endif
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    let status = withUnsafeBytes(of: &address) { raw in
      raw.withMemoryRebound(to: sockaddr.self) { connect(descriptor, $0.baseAddress, socklen_t(raw.count)) }
    }
    guard descriptor >= 0, status == 0 else { throw LinkError(what: "failed to connect") }
    let hello = #"{"jsonrpc":"2.0","id":10,"method":"rpc.hello","params":{"versions":["1"],"token":"\#(token)"}}"#
    _ = try exchange(Self.frame(hello), answers: 1)
  }

  deinit { close(descriptor) }

  /// Returns a request with its length prefix.
  static func frame(_ text: String) -> [UInt8] {
    withUnsafeBytes(of: UInt32(text.utf8.count).bigEndian, Array.init) + Array(text.utf8)
  }

  /// Sends frames with one write and returns the total size of the responses. Its cost is small compared with that of
  /// the server.
  func exchange(_ frames: [UInt8], answers: Int) throws -> Int {
    guard write(descriptor, frames, frames.count) == frames.count else { throw LinkError(what: "failed to write") }
    var size = 0
    for _ in 0..<answers { size += try answer() }
    return size
  }

  private func answer() throws -> Int {
    try fill(4)
    let length = Int(bytes[0]) << 24 | Int(bytes[1]) << 16 | Int(bytes[2]) << 8 | Int(bytes[3])
    guard length <= bytes.count else { throw LinkError(what: "response too long") }
    try fill(length)
    guard length > Self.idEnd + Self.success.count,
      bytes[Self.idEnd..<Self.idEnd + Self.success.count].elementsEqual(Self.success)
    else {
      throw LinkError(what: String(decoding: bytes[..<length], as: UTF8.self))
    }
    return length
  }

  private func fill(_ count: Int) throws {
    var filled = 0
    while filled < count {
      let got = bytes.withUnsafeMutableBytes { read(descriptor, $0.baseAddress?.advanced(by: filled), count - filled) }
      guard got > 0 else { throw LinkError(what: "the connection was closed") }
      filled += got
    }
  }
}

struct LinkError: Error {
  var what: String
}
