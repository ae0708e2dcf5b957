package import CampanileBase
import CampanileCall

#if canImport(FoundationNetworking)
  import Foundation
  package import FoundationNetworking
#else
  package import Foundation
#endif

/// A request for the content of an asset, which may be larger than a message.
package struct ContentRequest: Sendable {
  /// `GET` or `PUT`.
  package var method: String
  /// The segments of the path, which are escaped.
  package var path: [String]
  package var query: [(name: String, value: String)] = []
  package var headers: [String: String] = [:]

  package init(
    method: String, path: [String], query: [(name: String, value: String)] = [], headers: [String: String] = [:]
  ) {
    self.method = method
    self.path = path
    self.query = query
    self.headers = headers
  }
}

extension HTTPCaller {
  /// Sends or receives a content, and returns the body of the response. It may be repeated: GET and PUT are idempotent.
  ///
  /// - Parameter timeoutMs: The time limit of each attempt.
  package func content(
    _ request: ContentRequest, body: [UInt8] = [], timeoutMs: Int64 = 300_000
  ) async throws(RPCError) -> [UInt8] {
    let deadlineMs = environment.nowMs() + timeoutMs
    return try await repeating(CallOptions(), mayRepeat: true, deadlineMs: deadlineMs) { () async throws(RPCError) in
      try await self.authenticated { (credential) async throws(RPCError) in
        guard !Task.isCancelled else { throw LocalFailure.cancelled(processed: false) }
        let sent = HTTPRequest(
          method: request.method, url: self.address(request),
          headers: try self.headers(request, credential), body: body)
        let exchange = UnaryExchange(sizeBytesMax: self.configuration.responseBytesMax, requiresJSON: false)
        let timer = self.timer(timeoutMs) {
          exchange.finish(.failure(LocalFailure.deadlineExceeded(processed: true)))
        }
        defer { timer.cancel() }
        return try await exchange.run(sent, self.transport)
      }
    }
  }

  /// Returns a request with the current credential, for a session of the system that outlives the process.
  package func urlRequest(_ request: ContentRequest) async throws(RPCError) -> URLRequest {
    var result = URLRequest(url: address(request))
    result.httpMethod = request.method
    result.httpShouldHandleCookies = false
    for (name, value) in try headers(request, try await credentials.credential()) {
      result.setValue(value, forHTTPHeaderField: name)
    }
    return result
  }

  /// Returns the error of a response that such a session has received; `nil` after a success.
  package static func contentError(_ response: HTTPURLResponse, _ body: [UInt8]) -> RPCError? {
    guard response.statusCode != 200, response.statusCode != 201 else { return nil }
    var headers: [String: String] = [:]
    for (name, value) in response.allHeaderFields { headers["\(name)"] = "\(value)" }
    return ConnectError.error(HTTPHead(status: response.statusCode, headers: headers), body)
  }

  private func headers(
    _ request: ContentRequest, _ credential: Credential?
  ) throws(RPCError) -> [String: String] {
    try ConnectRequest.authentication(url, credential, allowsCleartext: configuration.allowsCleartext)
      .merging(request.headers) { first, _ in first }
  }

  private func address(_ request: ContentRequest) -> URL {
    let address = request.path.reduce(url) { $0.appendingPathComponent($1, isDirectory: false) }
    guard !request.query.isEmpty, var parts = URLComponents(url: address, resolvingAgainstBaseURL: false) else {
      return address
    }
    parts.queryItems = request.query.map { URLQueryItem(name: $0.name, value: $0.value) }
    // A plus sign in a query means a space to some servers.
    parts.percentEncodedQuery = parts.percentEncodedQuery?.replacingOccurrences(of: "+", with: "%2B")
    return parts.url ?? address
  }
}
