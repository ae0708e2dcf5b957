import AsyncHTTPClient
import CampanileBase
import CampanileRPC
import CampanileService
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// Sends the HTTP requests of actions.
protocol HTTPActionSending: Sendable {
  /// Sends a user's request. Never throws: every failure is a result.
  func send(_ request: HTTPActionRequest, of user: String) async -> HTTPActionResult
  /// The longest time that `send` takes.
  var durationMsMax: Int64 { get }
}

/// Limits of the requests of actions.
struct HTTPActionLimits: Sendable, Hashable {
  /// The time limit from the first lookup to the end of the last response, redirects included.
  var timeoutMs: Int64 = 10_000
  var connectTimeoutMs: Int64 = 5_000
  /// The maximum number of redirects. Above: `TOO_MANY_REDIRECTS`.
  var redirectsMax = 5
  /// The maximum size of a response body, which is read and discarded. The rest is not read.
  var responseSizeBytesMax = 65_536
  var queue = ActionQueueLimits()
  /// A name that cannot be called is rejected after a multiple of this time, whether or not it has an address.
  var refusalStepMs: Int64 = 1_000
  /// The number of addresses of a host to try if connections fail.
  var addressesTriedMax = 3
}

/// Calls URLs chosen by users without giving them access to hosts that only the server can reach.
///
/// A host is resolved once per request. The policy must allow all of its addresses. The connection goes to one of them,
/// so that a name that resolves differently the next time has no effect. Redirects are followed here, and each is
/// checked like the first request.
final class HTTPActionSender: HTTPActionSending {
  private let policy: AddressPolicy
  private let resolver: any HostResolving
  private let limits: HTTPActionLimits
  private let tls: TLSConfiguration
  private let nowMs: @Sendable () -> Int64
  private let log: @Sendable (String) -> Void
  private let slots: ActionSlots

  /// - Parameters:
  ///   - nowMs: The wall clock, for Retry-After.
  ///   - log: Receives the reason for a rejected host, which is not disclosed to users.
  init(
    policy: AddressPolicy, resolver: any HostResolving = SystemHostResolver(),
    limits: HTTPActionLimits = HTTPActionLimits(), tls: TLSConfiguration = .makeClientConfiguration(),
    nowMs: @escaping @Sendable () -> Int64, log: @escaping @Sendable (String) -> Void = { _ in }
  ) {
    self.policy = policy
    self.resolver = resolver
    self.limits = limits
    self.tls = tls
    self.nowMs = nowMs
    self.log = log
    slots = ActionSlots(limits.queue)
  }

  var durationMsMax: Int64 { limits.queue.waitMaxMs + limits.timeoutMs }

  func send(_ request: HTTPActionRequest, of user: String) async -> HTTPActionResult {
    guard ActionRules.methods.contains(request.method), let hop = HTTPActionHop(request) else {
      return .failure(.urlInvalid, "the URL cannot be called")
    }
    guard hop.headers.allSatisfy({ WebhookRules.isHeaderName($0.key) && WebhookRules.isHeaderValue($0.value) }) else {
      return .failure(.headerInvalid, "a header cannot be sent")
    }
    let result = await slots.run(user: user, host: hop.target.host) {
      await timed(hop, runID: request.idempotencyKey)
    }
    return result ?? .failure(.senderBusy, "too many requests are under way")
  }

  private func timed(_ hop: HTTPActionHop, runID: String) async -> HTTPActionResult {
    await withTaskGroup(of: HTTPActionResult?.self) { group in
      group.addTask { await self.run(hop, runID: runID) }
      group.addTask {
        try? await Task.sleep(for: .milliseconds(self.limits.timeoutMs))
        return nil
      }
      var result: HTTPActionResult?
      // The first to finish cancels the other. A cancelled run still returns the server's response if it has one.
      while let finished = await group.next() {
        group.cancelAll()
        if let finished { result = finished }
      }
      return result ?? Self.timedOut
    }
  }

  private static let timedOut = HTTPActionResult.failure(.timeout, "the server did not respond in time")

  private func run(_ first: HTTPActionHop, runID: String) async -> HTTPActionResult {
    var hop = first
    for _ in 0...max(0, limits.redirectsMax) {
      let response: Response
      switch await exchange(hop, runID: runID) {
      case .failure(let failed): return failed.result
      case .success(let received): response = received
      }
      switch hop.next(status: response.status, location: response.location) {
      case .done: return .response(status: response.status, retryAfter: response.retryAfter, nowMs: nowMs())
      case .refuse(let reason):
        var refused = HTTPActionResult.failure(reason, "the server redirects to a URL that must not be called")
        refused.status = response.status
        return refused
      case .follow(let next): hop = next
      }
    }
    return .failure(.tooManyRedirects, "the server redirects more than \(limits.redirectsMax) times")
  }

  /// The parts of a response that are used.
  private struct Response {
    var status: Int
    var location: String?
    var retryAfter: String?
  }

  private struct Failed: Error {
    var result: HTTPActionResult
  }

  private func exchange(_ hop: HTTPActionHop, runID: String) async -> Result<Response, Failed> {
    let addresses: [IPAddress]
    switch await self.addresses(of: hop.target, runID: runID) {
    case .failure(let failed): return .failure(failed)
    case .success(let allowed): addresses = allowed
    }
    var failure = Failed(result: .failure(.connectFailed, "no connection"))
    for address in addresses.prefix(max(1, limits.addressesTriedMax)) {
      do {
        return .success(try await exchange(hop, at: address))
      } catch {
        failure = Failed(result: HTTPActionFailures.result(of: error))
        // Once connected, the request may have had an effect, so it must not be repeated.
        guard failure.result.reason == .connectFailed else { break }
      }
    }
    return .failure(failure)
  }

  /// Returns the addresses to connect to, at least one.
  private func addresses(of target: HTTPActionTarget, runID: String) async -> Result<[IPAddress], Failed> {
    if let address = target.address {
      if policy.allows(address) { return .success([address]) }
      return .failure(Failed(result: .failure(.addressRefused, "the address must not be called")))
    }
    let begun = ContinuousClock.now
    let addresses = await resolver.addresses(of: target.host)
    if Task.isCancelled { return .failure(Failed(result: Self.timedOut)) }
    // One forbidden address rejects the host, because it must not matter which address is used.
    let refused = addresses.first { !policy.allows($0) }
    if refused == nil, !addresses.isEmpty { return .success(addresses) }
    // Users must not learn which names exist behind the firewall: result and duration are the same in both cases.
    log(
      refused.map { "action run \(runID): host \(target.host) resolves to \($0.text), which must not be called" }
        ?? "action run \(runID): host \(target.host) has no address")
    let stepMs = max(1, limits.refusalStepMs)
    let elapsedMs = Int64((ContinuousClock.now - begun) / .milliseconds(1))
    do {
      try await Task.sleep(until: begun + .milliseconds((elapsedMs / stepMs + 1) * stepMs), clock: .continuous)
    } catch {
      return .failure(Failed(result: Self.timedOut))
    }
    return .failure(Failed(result: .hostRefused))
  }

  private func exchange(_ hop: HTTPActionHop, at address: IPAddress) async throws -> Response {
    var configuration = HTTPClient.Configuration(
      tlsConfiguration: tls, redirectConfiguration: .disallow,
      timeout: .init(connect: .milliseconds(limits.connectTimeoutMs)), decompression: .disabled)
    configuration.httpVersion = .http1Only
    configuration.connectionPool.retryConnectionEstablishment = false
    if hop.target.address == nil { configuration.dnsOverride = [hop.target.host: address.text] }
    // Each request has its own client, because the address to connect to is configured per client.
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
      // Only the status matters; an incomplete body does not.
    }
    return kept
  }
}
