#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A message to a supervisor with the ports of a listening process: `{"rpc":7401,"http":7501,"pid":4711}` and a newline.
struct ReadyAnnouncement: Sendable, Hashable {
  var rpcPort: Int
  /// Nil, and `null` in JSON, if HTTP is disabled.
  var httpPort: Int?
  var processID: Int
  /// The admin port, if there is one.
  var adminPort: Int?
  /// The port of an RPC server in addition to the server at `rpcPort`, if there is one.
  var servicePort: Int?

  var json: [UInt8] {
    var text = JSONText()
    text.raw("{\"rpc\":")
    text.number(rpcPort)
    text.raw(",\"http\":")
    if let httpPort { text.number(httpPort) } else { text.raw("null") }
    text.raw(",\"pid\":")
    text.number(processID)
    if let adminPort {
      text.raw(",\"admin\":")
      text.number(adminPort)
    }
    if let servicePort {
      text.raw(",\"service\":")
      text.number(servicePort)
    }
    text.raw("}\n")
    return text.bytes
  }

  /// Writes the message atomically to a file.
  ///
  /// - Throws: `StartupError` if the file cannot be written.
  func write(toFile path: String) throws(StartupError) {
    let temporary = "\(path).\(processID).tmp"
    let descriptor = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw Self.failure(path) }
    defer { close(descriptor) }
    do {
      try Self.write(json, to: descriptor, name: path)
    } catch {
      unlink(temporary)
      throw error
    }
    guard rename(temporary, path) == 0 else {
      let error = Self.failure(path)
      unlink(temporary)
      throw error
    }
  }

  /// Writes the message to an inherited descriptor and closes it, so that the reader sees the end of file.
  ///
  /// - Throws: `StartupError` if the descriptor cannot be written to.
  func write(toDescriptor descriptor: Int32) throws(StartupError) {
    defer { close(descriptor) }
    try Self.write(json, to: descriptor, name: "descriptor \(descriptor)")
  }

  private static func write(_ bytes: [UInt8], to descriptor: Int32, name: String) throws(StartupError) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { systemWrite(descriptor, $0) }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if errno != EINTR {
        throw failure(name)
      }
    }
  }

  private static func failure(_ name: String) -> StartupError {
    StartupError("cannot write the ready announcement to \(name): \(String(cString: strerror(errno)))")
  }
}
