import CampanileBase
import CampanileCodec
import CampanileHealthReflection
import CampanileRPC
import NIOCore

/// A server's report of its own health.
enum HealthReport: Sendable, Hashable {
  /// No report yet, or the connection is lost.
  case unknown
  case serving
  case notServing
}

/// Keeps `grpc.health.v1.Health/Watch` open on an address, and with it a connection. Used on its event loop only.
///
/// A server without the method counts as serving while it is connected, which is checked every 2 seconds.
final class HealthWatch: ClientCallHandler {
  private static let retryMs: Int64 = 500
  private static let retryMsUnimplemented: Int64 = 2_000

  private let client: RPCClient
  private let loop: any EventLoop
  private let report: (HealthReport) -> Void
  private var call: ClientCall?
  private var retry: Scheduled<Void>?
  private var isStopped = false
  private var consumed = ConsumedCredit()

  init(client: RPCClient, loop: any EventLoop, report: @escaping (HealthReport) -> Void) {
    self.client = client
    self.loop = loop
    self.report = report
  }

  func start() {
    guard !isStopped else { return }
    if !client.isReady(on: loop) { report(.unknown) }
    consumed = ConsumedCredit()
    let head = CallHead(method: HealthMethods.watch.path, kind: .serverStreaming, deadline: nil)
    call = client.startCall(head, params: UnsafeRawBufferPointer(start: nil, count: 0), on: loop, handler: self)
  }

  func stop() {
    isStopped = true
    retry?.cancel()
    call?.cancel()
    call = nil
  }

  func callReceived(message: UnsafeRawBufferPointer, sizeBytes: Int) {
    guard !isStopped else { return }
    if let grant = consumed.consumed(bytes: sizeBytes) { call?.grantCredit(grant) }
    let response = try? HealthCheckResponse(jsonUTF8: message)
    report(response?.status == .serving ? .serving : .notServing)
  }

  func callFinished(result: UnsafeRawBufferPointer) { ended(.unknown, retryMs: Self.retryMs) }

  func callFailed(error: RPCError, rawError: UnsafeRawBufferPointer?) {
    if error.code == .unimplemented, rawError != nil {
      ended(.serving, retryMs: Self.retryMsUnimplemented)
    } else {
      ended(.unknown, retryMs: Self.retryMs)
    }
  }

  func callCredit(_ credit: StreamCredit) {}

  private func ended(_ last: HealthReport, retryMs: Int64) {
    call = nil
    guard !isStopped else { return }
    report(last)
    retry = loop.assumeIsolated().scheduleTask(in: .milliseconds(retryMs)) { self.start() }
  }
}
