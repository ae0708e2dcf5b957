import Activities
import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC

/// A user with a Live Activity on one device, whose state changes continually.
///
/// `@unchecked Sendable`: see `SimulatedLoop`.
final class ActivityUser: @unchecked Sendable {
  static let app = "com.example.growth"

  let name: String
  private let token: String
  private let book: CallBook
  private let client: RPCClient
  private var chance: SplitMix64
  private var isRegistered = false
  /// The last acknowledged state, and states with an unknown outcome.
  private var acknowledged = 0
  private var unknown: Set<Int> = []
  private var world: World { book.world }
  private var activityID: String { "activity-\(name)" }

  init(_ name: String, token: Int, _ book: CallBook, _ client: RPCClient) {
    (self.name, self.book, self.client) = (name, book, client)
    let digits = String(token, radix: 16)
    self.token = String(repeating: "0", count: 64 - digits.count) + digits
    chance = book.world.chance(name)
  }

  private func call<R: Sendable>(_ label: String, _ body: (CallOptions) async throws -> R) async -> Result<R, RPCError>
  {
    await book.make("\(label) \(name)", timeoutMs: Int64(30 + chance.below(400)), body, user: name)
  }

  func run(stepCount: Int) async {
    let activities = ActivitiesServiceClient(client)
    guard await start(activities) else { return world.check(false, "\(name) did not get an activity") }
    for state in 1...stepCount {
      await world.sleep(ms: Int64(chance.below(90)))
      let request = UpdateActivityRequest(
        activityId: activityID, contentStateJson: "{\"n\":\(state)}")
      switch await call("UpdateActivity", { try await activities.updateActivity(request, options: $0) }) {
      case .success: acknowledged = state
      // It may also be executed after later ones.
      case .failure(let error): if error.processed { unknown.insert(state) }
      }
    }
  }

  private func start(_ activities: ActivitiesServiceClient) async -> Bool {
    let request = StartActivityRequest(
      activityId: activityID, app: Self.app, environment: "development", origin: .local,
      contentStateJson: "{\"n\":0}", requestId: "start-\(name)")
    var isStarted = false
    for _ in 0..<200 where !isStarted {
      if case .success = await call("StartActivity", { try await activities.startActivity(request, options: $0) }) {
        isStarted = true
      } else {
        await world.sleep(ms: 20)
      }
    }
    let registration = RegisterPushTokenRequest(
      kind: .activityUpdate, token: token, app: Self.app, environment: "development", installationId: "phone",
      activityId: activityID)
    let tokens = PushTokensServiceClient(client)
    for _ in 0..<200 where isStarted && !isRegistered {
      if case .success = await call(
        "RegisterPushToken", { try await tokens.registerPushToken(registration, options: $0) })
      {
        isRegistered = true
      } else {
        await world.sleep(ms: 20)
      }
    }
    return isRegistered
  }

  /// Runs after all activity has ended: the device shows the service's state, and that state was acknowledged or has an
  /// unknown outcome.
  func verify(_ component: ActivitiesComponent, _ apns: SimulatedAPNs) async {
    guard isRegistered else { return }
    let context = CallContext(
      method: ActivitiesServiceMethods.getActivity, principal: Principal(kind: .user, id: name))
    do {
      let request = GetActivityRequest(activityId: activityID)
      let state = try await component.activities.getActivity(request, context: context).activity?.contentStateJson
      guard let state else { return world.check(false, "\(name): the activity has no state") }
      let number = Int(state.filter(\.isNumber)) ?? -1
      world.check(number >= 0, "\(name): the state is \(state)")
      world.check(
        number == acknowledged || unknown.contains(number),
        "\(name): the state is \(state), but \(acknowledged) was acknowledged")
      guard number > 0 else { return }
      let shown = apns.shown["/3/device/\(token)"] ?? ""
      world.check(
        shown.contains("\"content-state\":\(state)"), "\(name): the device shows \(shown), the service has \(state)")
    } catch {
      world.check(false, "\(name): the service fails at the end: \(error)")
    }
  }
}
