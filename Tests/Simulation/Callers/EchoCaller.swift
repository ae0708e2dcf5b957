import CampanileAPI
import CampanileCodec
import CampanileRPC

/// Makes calls whose handlers are counted: what reads may run more than once, the rest may not.
///
/// `@unchecked Sendable`: see `SimulatedLoop`.
final class EchoCaller: @unchecked Sendable {
  private struct Kept {
    var fate = Fate()
    var isRepeatable: Bool
  }

  private let book: CallBook
  private let ledger: EchoLedger
  private let client: RPCClient
  private let name: String
  private var chance: SplitMix64
  private var calls: [(payload: String, kept: Kept)] = []
  private var world: World { book.world }

  init(_ name: String, _ book: CallBook, _ ledger: EchoLedger, _ client: RPCClient) {
    (self.name, self.book, self.ledger, self.client) = (name, book, ledger, client)
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
      // The planted fault: a client that judges a call by its last attempt.
      result = await echo(request, timeoutMs)
    }
    if case .success(let reply) = result {
      world.check(reply.payload == payload, "the call of \(payload) was answered with \(reply.payload)")
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
    // The planted fault: a client that repeats what it must not.
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

  /// When nothing can run any more.
  func verify() {
    for (payload, kept) in calls {
      let runs = ledger.runs[payload] ?? 0
      world.check(kept.fate.isPossible || runs == 0, "\(payload) was told that no handler ran, and \(runs) did")
      world.check(!kept.fate.isDone || runs > 0, "\(payload) was answered, and no handler ran")
      world.check(kept.isRepeatable || runs <= 1, "\(payload) must not be repeated, and ran \(runs) times")
    }
  }
}

extension MethodDescriptor {
  /// The same method, said to be of another kind.
  fileprivate func declared(_ idempotency: Idempotency) -> MethodDescriptor {
    MethodDescriptor(
      path: path, kind: kind, idempotency: idempotency, requestType: requestType, responseType: responseType)
  }
}
