import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOPosix

/// A request to the issuer: GET, or POST with a form.
package struct IssuerRequest: Sendable, Hashable {
  package var url: String
  package var authorization: String?
  package var form: String?

  package init(url: String) { self.url = url }
}

/// Sends requests to the issuer; tests replace it.
package protocol IssuerExchanging: Sendable {
  /// Sends a request, and returns the status and the body of the response. Throws if there is no complete one.
  func send(_ request: IssuerRequest) async throws -> (status: Int, body: [UInt8])
}

/// Calls the issuer over HTTP/1.1. Redirects are not followed: a code must not go elsewhere.
struct IssuerExchange: IssuerExchanging {
  static let timeoutMs: Int64 = 10_000
  static let responseBytesMax = 256 * 1024

  func send(_ request: IssuerRequest) async throws -> (status: Int, body: [UInt8]) {
    var configuration = HTTPClient.Configuration(
      redirectConfiguration: .disallow, timeout: .init(connect: .milliseconds(Self.timeoutMs)), decompression: .disabled
    )
    configuration.httpVersion = .http1Only
    // Sign-ins are rare: no connection waits for the next one.
    let client = HTTPClient(
      eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup.singleton), configuration: configuration)
    do {
      let response = try await send(request, over: client)
      try? await client.shutdown()
      return response
    } catch {
      try? await client.shutdown()
      throw error
    }
  }

  private func send(_ request: IssuerRequest, over client: HTTPClient) async throws -> (status: Int, body: [UInt8]) {
    var message = HTTPClientRequest(url: request.url)
    message.headers.add(name: "accept", value: "application/json")
    if let authorization = request.authorization { message.headers.add(name: "authorization", value: authorization) }
    if let form = request.form {
      message.method = .POST
      message.headers.add(name: "content-type", value: "application/x-www-form-urlencoded")
      message.body = .bytes(ByteBuffer(string: form))
    }
    let response = try await client.execute(message, timeout: .milliseconds(Self.timeoutMs))
    let body = try await response.body.collect(upTo: Self.responseBytesMax)
    return (Int(response.status.code), Array(buffer: body))
  }
}
