import AsyncHTTPClient
import CampanileService
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Synchronization

/// Makes the HTTP requests of actions.
protocol HTTPActionSending: Sendable {
  /// Never throws: everything that can happen is a result.
  func send(_ request: HTTPActionRequest) async -> HTTPActionResult
}

/// Bounds of the requests that actions make.
struct HTTPActionLimits: Sendable, Hashable {
  /// From the first lookup to the end of the last response, redirects included.
  var timeoutMs: Int64 = 10_000
  var connectTimeoutMs: Int64 = 5_000
  /// One more is `TOO_MANY_REDIRECTS`.
  var redirectsMax = 5
  /// Of a response's body, which is read and dropped; the rest is not awaited.
  var responseSizeBytesMax = 65_536
  /// Requests under way at once; one more is `SENDER_BUSY`.
  var inFlightMax = 64
  /// Addresses of a host that are tried when a connection fails.
  var addressesTriedMax = 3
}

/// Calls URLs that users chose, without letting them reach what only the server can.
///
/// A host is resolved once for each request; every address it has must be allowed by the policy, and the connection goes
/// to one of these, so that a name that resolves differently the next time gains nothing. Redirects are followed here,
/// each checked like the first request.
final class HTTPActionSender: HTTPActionSending {
  private let policy: AddressPolicy
  private let resolver: any HostResolving
  private let limits: HTTPActionLimits
  private let tls: TLSConfiguration
  private let nowMs: @Sendable () -> Int64
  private let inFlight = Mutex(0)

  /// `nowMs` is the wall clock, for Retry-After.
  init(
    policy: AddressPolicy, resolver: any HostResolving = SystemHostResolver(),
    limits: HTTPActionLimits = HTTPActionLimits(), tls: TLSConfiguration = .makeClientConfiguration(),
    nowMs: @escaping @Sendable () -> Int64
  ) {
    self.policy = policy
    self.resolver = resolver
    self.limits = limits
    self.tls = tls
    self.nowMs = nowMs
  }

  func send(_ request: HTTPActionRequest) async -> HTTPActionResult {
    let isTaken = inFlight.withLock { count in
      guard count < limits.inFlightMax else { return false }
      count += 1
      return true
    }
    guard isTaken else { return .failure(.senderBusy, "too many requests are under way") }
    defer { inFlight.withLock { $0 -= 1 } }
    return await withTaskGroup(of: HTTPActionResult?.self) { group in
      group.addTask { await self.run(request) }
      group.addTask {
        try? await Task.sleep(for: .milliseconds(self.limits.timeoutMs))
        return nil
      }
      var result: HTTPActionResult?
      // Whoever is first ends the other. A run that is cut short still says what the server answered, if it did.
      while let finished = await group.next() {
        group.cancelAll()
        if let finished { result = finished }
      }
      return result ?? Self.timedOut
    }
  }

  private static let timedOut = HTTPActionResult.failure(.timeout, "the server did not answer in time")

  private func run(_ request: HTTPActionRequest) async -> HTTPActionResult {
    guard ActionRules.methods.contains(request.method), var hop = HTTPActionHop(request) else {
      return .failure(.urlInvalid, "the URL cannot be called")
    }
    guard hop.headers.allSatisfy({ WebhookRules.isHeaderName($0.key) && WebhookRules.isHeaderValue($0.value) }) else {
      return .failure(.headerInvalid, "a header cannot be sent")
    }
    for _ in 0...max(0, limits.redirectsMax) {
      let response: Response
      switch await exchange(hop) {
      case .failure(let failed): return failed.result
      case .success(let received): response = received
      }
      switch hop.next(status: response.status, location: response.location) {
      case .done: return .response(status: response.status, retryAfter: response.retryAfter, nowMs: nowMs())
      case .refuse(let reason):
        var refused = HTTPActionResult.failure(reason, "the server redirects to where it must not")
        refused.status = response.status
        return refused
      case .follow(let next): hop = next
      }
    }
    return .failure(.tooManyRedirects, "the server redirects more than \(limits.redirectsMax) times")
  }

  /// What is kept of a response.
  private struct Response {
    var status: Int
    var location: String?
    var retryAfter: String?
  }

  private struct Failed: Error {
    var result: HTTPActionResult
  }

  private func exchange(_ hop: HTTPActionHop) async -> Result<Response, Failed> {
    var addresses = hop.target.address.map { [$0] } ?? []
    if addresses.isEmpty { addresses = await resolver.addresses(of: hop.target.host) }
    if Task.isCancelled { return .failure(Failed(result: Self.timedOut)) }
    guard !addresses.isEmpty else {
      return .failure(Failed(result: .failure(.dnsFailed, "the host has no address")))
    }
    // One that is not allowed condemns all: which of them is used must not matter.
    guard addresses.allSatisfy(policy.allows) else {
      return .failure(Failed(result: .failure(.addressRefused, "the host is at an address that must not be called")))
    }
    var failure = Failed(result: .failure(.connectFailed, "no connection"))
    for address in addresses.prefix(max(1, limits.addressesTriedMax)) {
      do {
        return .success(try await exchange(hop, at: address))
      } catch {
        failure = Failed(result: HTTPActionFailures.result(of: error))
        // Once connected, the request may have had its effect.
        guard failure.result.reason == .connectFailed else { break }
      }
    }
    return .failure(failure)
  }

  private func exchange(_ hop: HTTPActionHop, at address: IPAddress) async throws -> Response {
    var configuration = HTTPClient.Configuration(
      tlsConfiguration: tls, redirectConfiguration: .disallow,
      timeout: .init(connect: .milliseconds(limits.connectTimeoutMs)), decompression: .disabled)
    configuration.httpVersion = .http1Only
    configuration.connectionPool.retryConnectionEstablishment = false
    if hop.target.address == nil { configuration.dnsOverride = [hop.target.host: address.text] }
    // A client of its own, since it is the client that knows the one address to connect to.
    let client = HTTPClient(
      eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup.singleton), configuration: configuration)
    do {
      let response = try await exchange(hop, over: client)
      try? await client.shutdown()
      return response
    } catch {
      try? await client.shutdown()
      throw error
    }
  }

  private func exchange(_ hop: HTTPActionHop, over client: HTTPClient) async throws -> Response {
    var request = HTTPClientRequest(url: hop.target.text)
    request.method = HTTPMethod(rawValue: hop.method)
    for (name, value) in hop.headers { request.headers.add(name: name, value: value) }
    if !request.headers.contains(name: "user-agent") {
      request.headers.add(name: "user-agent", value: HTTPActionRequest.userAgent)
    }
    if !request.headers.contains(name: "accept") { request.headers.add(name: "accept", value: "*/*") }
    if !hop.body.isEmpty { request.body = .bytes(ByteBuffer(bytes: hop.body)) }
    let response = try await client.execute(request, timeout: .milliseconds(limits.timeoutMs))
    let kept = Response(
      status: Int(response.status.code), location: response.headers.first(name: "location"),
      retryAfter: response.headers.first(name: "retry-after"))
    if case .follow = hop.next(status: kept.status, location: kept.location) { return kept }
    var sizeBytes = 0
    do {
      for try await part in response.body {
        sizeBytes += part.readableBytes
        if sizeBytes >= limits.responseSizeBytesMax { break }
      }
    } catch {
      // The status says what became of the request; its body is of no use here.
    }
    return kept
  }
}
