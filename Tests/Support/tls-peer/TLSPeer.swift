import Foundation

/// A TLS client in a separate Python process, which uses OpenSSL. Sends a request, reads the response, and closes the
/// connection in a given way.
package struct TLSPeer: Sendable {
  /// The way in which the client closes the connection.
  package enum Ending: String, Sendable, CaseIterable {
    /// Closes the socket without a TLS close alert.
    case ragged
    /// Sends a close alert, and waits for that of the server.
    case clean
    /// Waits for the server's close alert, and responds with one.
    case answer
  }

  /// The process failed.
  package struct Failure: Error {}

  private static let script = """
    import socket, ssl, sys
    port, certificate, ending, asked, awaited = sys.argv[1:]
    context = ssl.create_default_context(cafile=certificate)
    peer = context.wrap_socket(socket.create_connection(("127.0.0.1", int(port))), server_hostname="server.test")
    peer.sendall(bytes.fromhex(asked))
    text = b""
    while awaited.encode() not in text:
        text += peer.recv(4096) or sys.exit("no response")
    if ending == "ragged":
        peer.close()
    else:
        while ending == "answer" and peer.recv(1024):
            pass
        peer.unwrap().close()
    """

  private let folder: URL
  package var certificateFile: String { folder.appending(path: "cert.pem").path }
  package var keyFile: String { folder.appending(path: "key.pem").path }

  /// Creates a key and a certificate of `server.test` for the server.
  package init() async throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "tls-peer-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try await run(
      "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
      "-subj", "/CN=server.test", "-addext", "subjectAltName=DNS:server.test", "-keyout", keyFile, "-out",
      certificateFile)
  }

  /// Sends `asked` to a server on the loopback interface, waits for `awaited`, and closes the connection.
  ///
  /// - Throws: `Failure` if a step fails.
  package func ask(port: Int, _ asked: [UInt8], until awaited: String, ending: Ending) async throws {
    let digits = asked.map { $0 < 16 ? "0" + String($0, radix: 16) : String($0, radix: 16) }.joined()
    try await run("python3", "-c", Self.script, String(port), certificateFile, ending.rawValue, digits, awaited)
  }

  /// Removes the key and the certificate.
  package func remove() { try? FileManager.default.removeItem(at: folder) }

  private func run(_ words: String...) async throws {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = words
    process.standardError = FileHandle.nullDevice
    try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
      process.terminationHandler = { _ in done.resume() }
      do { try process.run() } catch { done.resume(throwing: error) }
    }
    guard process.terminationStatus == 0 else { throw Failure() }
  }
}
