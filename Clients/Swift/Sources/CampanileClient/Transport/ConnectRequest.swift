import CampanileBase
import CampanileCall
import Foundation

/// Builds the requests of the Connect protocol (connectrpc.com/docs/protocol).
enum ConnectRequest {
  /// The protocol allows ten digits.
  private static let timeoutMsMax: Int64 = 9_999_999_999

  static func unary(
    _ url: URL, _ method: MethodDescriptor, _ json: [UInt8], _ metadata: Metadata, _ credential: Credential?,
    timeoutMs: Int64?, allowsCleartext: Bool
  ) throws(RPCError) -> HTTPRequest {
    try request(url, method, json, "application/json", metadata, credential, timeoutMs, allowsCleartext)
  }

  /// The time by which the server's deadline of a stream is later than the client's. The client then ends the stream,
  /// and the server does not record a failed call.
  static let streamGraceMs: Int64 = 5_000

  /// Builds the request of a stream; `body` is an envelope.
  static func stream(
    _ url: URL, _ method: MethodDescriptor, _ body: [UInt8], _ metadata: Metadata, _ credential: Credential?,
    timeoutMs: Int64?, allowsCleartext: Bool
  ) throws(RPCError) -> HTTPRequest {
    try request(
      url, method, body, "application/connect+json", metadata, credential, timeoutMs.map { $0 + streamGraceMs },
      allowsCleartext)
  }

  private static func request(
    _ url: URL, _ method: MethodDescriptor, _ body: [UInt8], _ contentType: String, _ metadata: Metadata,
    _ credential: Credential?, _ timeoutMs: Int64?, _ allowsCleartext: Bool
  ) throws(RPCError) -> HTTPRequest {
    if let fault = metadata.fault() { throw fault }
    var headers = try authentication(url, credential, allowsCleartext: allowsCleartext)
    for entry in metadata.entries where headers[entry.key] == nil || entry.key == "authorization" {
      headers[entry.key] = metadata.values(entry.key).joined(separator: ",")
    }
    headers["content-type"] = contentType
    headers["connect-protocol-version"] = "1"
    if let timeoutMs, timeoutMs <= timeoutMsMax { headers["connect-timeout-ms"] = String(max(0, timeoutMs)) }
    return HTTPRequest(url: address(url, method), headers: headers, body: body)
  }

  /// Returns the header of a credential.
  static func authentication(
    _ url: URL, _ credential: Credential?, allowsCleartext: Bool
  ) throws(RPCError) -> [String: String] {
    guard let credential else { return [:] }
    guard allowsCleartext || isProtected(url) else {
      throw RPCError(
        .failedPrecondition, "a credential would be sent without TLS; use https, or set allowsCleartext",
        reason: "CLEARTEXT_REFUSED", processed: false)
    }
    return switch credential.scheme {
    case .bearer: ["authorization": "Bearer \(credential.secret)"]
    case .attendanceSession: ["attendance-session": credential.secret]
    }
  }

  /// Returns the address of a method: a path of the gateway's.
  private static func address(_ url: URL, _ method: MethodDescriptor) -> URL {
    method.path.split(separator: "/").reduce(url) { $0.appendingPathComponent(String($1), isDirectory: false) }
  }

  /// Whether only the gateway can read what is sent: over TLS, or to this machine.
  private static func isProtected(_ url: URL) -> Bool {
    if url.scheme?.lowercased() == "https" { return true }
    let host = url.host?.trimmingCharacters(in: CharacterSet(charactersIn: "[]")).lowercased() ?? ""
    return host == "localhost" || host == "::1"
      || host.hasPrefix("127.") && host.allSatisfy { $0.isNumber || $0 == "." }
  }
}
