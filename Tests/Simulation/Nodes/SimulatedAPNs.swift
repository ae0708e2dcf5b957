import Activities
import CampanileBase
import CampanileRPC
import Foundation

/// APNs and the devices behind it: records the payload that each device shows, whatever happens to the responses.
///
/// `@unchecked Sendable`: see `SimulatedLoop`.
final class SimulatedAPNs: @unchecked Sendable {
  private let world: World
  private var chance: SplitMix64
  /// The last payload received by each device, by path.
  private(set) var shown: [String: String] = [:]
  private(set) var acceptedCount = 0
  var isFaulty = false

  init(_ world: World) {
    self.world = world
    chance = world.chance("apns")
  }

  /// Returns a sender for one process. Its results are lost with the process.
  func connection() -> any PushSending { Connection(self) }

  private func show(_ request: PushRequest) {
    let payload = String(decoding: request.payload, as: UTF8.self)
    world.saw("push \(request.path.suffix(4)) \(payload.count)")
    let former = shown[request.path]
    shown[request.path] = payload
    // The planted fault: the older payload arrives once more.
    if world.plant == .deliversLate, let former, former != payload, chance.oneIn(3) { shown[request.path] = former }
  }

  private final class Connection: PushSending, @unchecked Sendable {
    private let apns: SimulatedAPNs
    private var results: [PushResult] = []
    private var underWay: Set<String> = []

    init(_ apns: SimulatedAPNs) { self.apns = apns }

    func capacity(of route: PushRoute) -> PushCapacity { PushCapacity(free: 20) }

    func submit(_ requests: [PushRequest], to route: PushRoute) {
      for request in requests { submit(request) }
    }

    private func submit(_ request: PushRequest) {
      let isAlone = underWay.insert(request.path).inserted
      apns.world.check(isAlone, "two pushes to \(request.path) are in flight at once")
      let (arrives, outcome) = apns.fate()
      let toMs = Int64(1 + apns.chance.below(20))
      let backMs = Int64(1 + apns.chance.below(20))
      apns.world.after(ms: toMs) { if arrives { self.apns.show(request) } }
      apns.world.after(ms: toMs + backMs) {
        self.underWay.remove(request.path)
        self.results.append(PushResult(ticket: request.ticket, outcome: outcome))
      }
    }

    func takeResults() -> [PushResult] {
      defer { results = [] }
      return results
    }
  }

  /// Decides whether a push arrives, and which outcome its sender receives.
  private func fate() -> (arrives: Bool, outcome: PushOutcome) {
    let accepted = PushOutcome.answered(PushAnswer(status: 200))
    acceptedCount += 1
    guard isFaulty else { return (true, accepted) }
    if world.plant == .swallowsPushes, chance.oneIn(3) { return (false, accepted) }
    switch chance.below(24) {
    case 0...1:
      world.fault("push lost")
      return (false, .lost("the connection was lost"))
    case 2...3:
      world.fault("response to a push lost")
      return (true, .lost("the connection was lost"))
    case 4: return (false, .answered(PushAnswer(status: 503, reason: "ServiceUnavailable")))
    case 5: return (false, .answered(PushAnswer(status: 429, reason: "TooManyRequests")))
    case 6: return (false, .unprocessed("the connection was closed"))
    default: return (true, accepted)
    }
  }
}
