internal import Foundation

/// Probes of a port with blocking sockets and a timeout, for checks that run alone.
enum PortProbe {
  /// Connects to a port.
  ///
  /// - Returns: The reason for a failure, or nil if the connection succeeded.
  static func fault(connecting host: String, port: Int, timeoutMs: Int64) -> String? {
    switch connect(host, port, timeoutMs: timeoutMs) {
    case .success(let descriptor):
      close(descriptor)
      return nil
    case .failure(let error): return error.description
    }
  }

  /// Sends `GET path` and returns the status of the response.
  ///
  /// - Throws: `UsageError` if there is no HTTP response.
  static func httpStatus(host: String, port: Int, path: String, timeoutMs: Int64) throws(UsageError) -> Int {
    let descriptor = try connect(host, port, timeoutMs: timeoutMs).get()
    defer { close(descriptor) }
    let request = "GET \(path) HTTP/1.1\r\nhost: \(host)\r\nconnection: close\r\n\r\n"
    guard (try? Console.write(Array(request.utf8), to: descriptor)) != nil else {
      throw UsageError("the connection to \(host):\(port) was closed")
    }
    var answer: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 256)
    // Only the status line is needed.
    while answer.count < 4096, !answer.contains(UInt8(ascii: "\n")) {
      let count = recv(descriptor, &piece, piece.count, 0)
      guard count > 0 else { break }
      answer += piece[..<count]
    }
    let words = String(decoding: answer.prefix(while: { $0 != UInt8(ascii: "\n") }), as: UTF8.self).split(
      separator: " ")
    guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]) else {
      throw UsageError("no HTTP response from \(host):\(port) within \(timeoutMs) ms")
    }
    return status
  }

  private static func connect(_ host: String, _ port: Int, timeoutMs: Int64) -> Result<Int32, UsageError> {
    var hints = addrinfo()
    hints.ai_socktype = stream
    var list: UnsafeMutablePointer<addrinfo>?
    let code = getaddrinfo(host, String(port), &hints, &list)
    guard code == 0, let first = list else {
      return .failure(UsageError("cannot resolve \(host): \(String(cString: gai_strerror(code)))"))
    }
    defer { freeaddrinfo(first) }
    var why = "no address"
    for entry in sequence(first: first, next: { $0.pointee.ai_next }).prefix(8) {
      let descriptor = socket(entry.pointee.ai_family, stream, 0)
      guard descriptor >= 0 else { continue }
      var limit = timeval(tv_sec: Int(timeoutMs / 1000), tv_usec: numericCast(timeoutMs % 1000 * 1000))
      for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
        setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
      }
      #if canImport(Glibc)
        let result = Glibc.connect(descriptor, entry.pointee.ai_addr, entry.pointee.ai_addrlen)
      #else
        let result = Darwin.connect(descriptor, entry.pointee.ai_addr, entry.pointee.ai_addrlen)
      #endif
      if result == 0 { return .success(descriptor) }
      // A send timeout also limits connecting; it is reported as EINPROGRESS (socket(7)).
      why = errno == EINPROGRESS ? "no response within \(timeoutMs) ms" : String(cString: strerror(errno))
      close(descriptor)
    }
    return .failure(UsageError("\(host):\(port): \(why)"))
  }

  private static var stream: Int32 {
    #if canImport(Glibc)
      Int32(SOCK_STREAM.rawValue)
    #else
      SOCK_STREAM
    #endif
  }
}
