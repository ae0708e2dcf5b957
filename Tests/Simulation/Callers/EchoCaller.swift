import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC

/// Makes calls whose executions are counted: reads may run more than once, other calls may not.
///
/// `@unchecked Sendable`: see `SimulatedLoop`.
final class EchoCaller: @unchecked Sendable {
  private struct Kept {
    var fate = Fate()
    var isRepeatable: Bool
  }

  private let book: CallBook
  private let echoLog: EchoLog
  private let client: RPCClient
  private let name: String
  private var chance: SplitMix64
  private var calls: [(payload: String, kept: Kept)] = []
  private var world: World { book.world }

  init(_ name: String, _ book: CallBook, _ echoLog: EchoLog, _ client: RPCClient) {
    (self.name, self.book, self.echoLog, self.client) = (name, book, echoLog, client)
    chance = book.world.chance(name)
  }

  func run(callCount: Int) async {
    for index in 0..<callCount {
      let payload = "\(name)-\(index)"
      let timeoutMs = Int64(20 + chance.below(400))
      if chance.oneIn(2) { await read(payload, timeoutMs) } else { await change(payload, timeoutMs) }
      await world.sleep(ms: Int64(chance.below(60)))
    }
  }

  private func read(_ payload: String, _ timeoutMs: Int64) async {
    let request = EchoRequest.with { $0.payload = payload }
    var result = await echo(request, timeoutMs)
    if world.plant == .forgetsEarlierAttempts, case .failure(let error) = result, error.code == .unavailable {
      // The planted fault: a client that reports only the outcome of the last attempt.
      result = await echo(request, timeoutMs)
    }
    if case .success(let reply) = result {
      world.check(reply.payload == payload, "the call with \(payload) returned \(reply.payload)")
    }
    keep(payload, result, isRepeatable: true)
  }

  private func echo(_ request: EchoRequest, _ timeoutMs: Int64) async -> Result<EchoResponse, RPCError> {
    await book.make(
      "Echo \(request.payload)", timeoutMs: timeoutMs,
      { options in
        try await client.unary(EchoServiceMethods.echo, request, options: options)
      })
  }

  private func change(_ payload: String, _ timeoutMs: Int64) async {
    let request = FailRequest.with { $0.key = payload }
    var method = EchoServiceMethods.fail
    // The planted fault: a client that repeats calls that must not be repeated.
    if world.plant == .repeatsUnsafeCalls { method = method.declared(.idempotent) }
    let result: Result<FailResponse, RPCError> = await book.make(
      "Fail \(payload)", timeoutMs: timeoutMs,
      { options in
        try await client.unary(method, request, options: options)
      })
    keep(payload, result, isRepeatable: false)
  }

  private func keep<R>(_ payload: String, _ result: Result<R, RPCError>, isRepeatable: Bool) {
    var kept = Kept(isRepeatable: isRepeatable)
    kept.fate.note(result)
    calls.append((payload, kept))
  }

  /// Runs when no handler can run any more.
  func verify() {
    for (payload, kept) in calls {
      let runs = echoLog.runs[payload] ?? 0
      world.check(kept.fate.isPossible || runs == 0, "\(payload) was reported as not executed, but ran \(runs) times")
      world.check(!kept.fate.isDone || runs > 0, "\(payload) succeeded, but no handler ran")
      world.check(kept.isRepeatable || runs <= 1, "\(payload) must not be repeated, but ran \(runs) times")
    }
  }
}

extension MethodDescriptor {
  /// Returns the same method with a different idempotency.
  fileprivate func declared(_ idempotency: Idempotency) -> MethodDescriptor {
    MethodDescriptor(
      path: path, kind: kind, idempotency: idempotency, requestType: requestType, responseType: responseType)
  }
}
