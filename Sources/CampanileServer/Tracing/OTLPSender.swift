import AsyncHTTPClient
import NIOCore
import NIOHTTP1

/// Sends spans to an OTLP receiver, as JSON over HTTP.
final class OTLPSender: SpanSending {
  private static let timeout = TimeAmount.seconds(10)
  /// Maximum size of a response body, which is discarded.
  private static let answerBytesMax = 64 * 1024

  private let url: String
  private let client: HTTPClient

  /// Creates a sender.
  ///
  /// - Parameter url: The complete URL, including `/v1/traces`.
  init(url: String, group: any EventLoopGroup) {
    self.url = url
    var configuration = HTTPClient.Configuration()
    configuration.timeout = .init(connect: .seconds(5), read: Self.timeout)
    configuration.redirectConfiguration = .disallow
    client = HTTPClient(eventLoopGroupProvider: .shared(group), configuration: configuration)
  }

  func send(_ body: [UInt8]) async -> SpanSendOutcome {
    var request = HTTPClientRequest(url: url)
    request.method = .POST
    request.headers.add(name: "content-type", value: "application/json")
    request.body = .bytes(body)
    do {
      let response = try await client.execute(request, timeout: Self.timeout)
      _ = try? await response.body.collect(upTo: Self.answerBytesMax)
      switch response.status.code {
      case 200..<300: return .taken
      case 429, 502, 503, 504: return .busy("status \(response.status.code)")
      default: return .refused("status \(response.status.code)")
      }
    } catch {
      return .busy(String(String(describing: error).prefix(200)))
    }
  }

  func close() async { try? await client.shutdown() }
}
