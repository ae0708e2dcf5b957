import CampanileBase
import Foundation

/// One request.
struct HTTPRequest: Sendable {
  var method = "POST"
  var url: URL
  /// Names and values; each name once.
  var headers: [String: String]
  var body: [UInt8]
}

/// The status and the headers of a response.
struct HTTPHead: Sendable {
  var status: Int
  private let headers: [String: String]

  init(status: Int, headers: [String: String]) {
    self.status = status
    self.headers = Dictionary(headers.map { ($0.key.lowercased(), $0.value) }) { first, _ in first }
  }

  /// The value of a header. `name` is in lower case.
  subscript(name: String) -> String? { headers[name] }

  /// The content type without parameters, in lower case; empty if there is none.
  var contentType: String {
    (self["content-type"] ?? "").prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).lowercased()
  }
}

/// Receives a response: the head, parts of the body, and the end, on any thread and in this order.
protocol HTTPReceiver: AnyObject, Sendable {
  func received(_ head: HTTPHead)
  /// Receives decompressed bytes.
  func received(_ bytes: [UInt8])
  /// Receives the end. `error` is the failure of the connection, if any.
  func ended(_ error: RPCError?)
}

/// A request that was sent.
protocol HTTPRequestHandle: Sendable {
  /// Stops the request. No effect after its end.
  func cancel()
}

/// Sends requests. Tests replace it.
protocol HTTPTransport: Sendable {
  func start(_ request: HTTPRequest, _ receiver: any HTTPReceiver) -> any HTTPRequestHandle
}
