import APNs
import CampanileBase
import CampanileCrypto
import Synchronization
import Testing

@testable import APNsSimulator

/// A fixed time: 2026-11-21 12:00 UTC.
let nowMs: Int64 = 1_795_262_400_000
let bundleID = "com.example.growth"
let liveTopic = "com.example.growth.push-type.liveactivity"
let deviceToken = String(repeating: "ab", count: 32)

/// Returns the facts of a valid update of an activity.
func goodContext() -> PushContext {
  var fields = PushFields()
  fields.authorization = "bearer x"
  fields.topic = liveTopic
  fields.pushType = "liveactivity"
  fields.priority = "5"
  fields.expiration = "0"
  fields.id = "6F1E2D3C-4B5A-4978-8796-A5B4C3D2E1F0"
  let claims = ProviderClaims(keyID: "ABCDE12345", teamID: "TEAM123456", issuedAtSeconds: nowMs / 1000 - 60)
  return PushContext(
    method: "POST", path: "/3/device/\(deviceToken)", fields: fields, bodyBytes: 100,
    provider: .verified(claims, goodKey), connectionIssue: nil, lastIssue: nil, device: nil, channel: nil, nowMs: nowMs)
}

let goodKey = SigningKey(teamID: "TEAM123456", keyID: "ABCDE12345", publicKeyPEM: "", bundleIDs: [bundleID])

/// Returns the facts of a valid broadcast.
func goodBroadcast() -> PushContext {
  var context = goodContext()
  context.path = "/4/broadcasts/apps/\(bundleID)"
  context.fields.topic = nil
  context.fields.channelID = "dHN0LXNyY2gtY2hubA=="
  context.channel = ChannelRecord(bundleID: bundleID, storesMessages: false, createdAtMs: 0)
  return context
}

/// A simulator with a test clock and a signing key.
final class Bench {
  var timeMs = nowMs
  let key: ES256PrivateKey
  let simulator: Simulator
  var connection = ConnectionUse(number: 1)
  private let clock = Clock()

  private final class Clock: @unchecked Sendable {
    // Each test is a single task, so there are no races.
    var timeMs = APNsSimulatorTests.nowMs
    var ids = 0
  }

  init(_ limits: SimulatorLimits = SimulatorLimits()) throws {
    key = try ES256PrivateKey.generate()
    let clock = clock
    simulator = Simulator(
      limits: limits, seed: 1, nowMs: { clock.timeMs },
      makeID: {
        clock.ids += 1
        let digits = String(clock.ids)
        return "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits
      })
    try simulator.add(
      SigningKey(teamID: "TEAM123456", keyID: "ABCDE12345", publicKeyPEM: key.publicKey.pem, bundleIDs: [bundleID]))
  }

  func advance(seconds: Int64) { clock.timeMs += seconds * 1000 }
  var nowSeconds: Int64 { clock.timeMs / 1000 }

  func authorization(
    keyID: String = "ABCDE12345", teamID: String = "TEAM123456", issuedAtSeconds: Int64? = nil,
    key: ES256PrivateKey? = nil
  ) throws -> String {
    let issuedAt = issuedAtSeconds ?? nowSeconds
    let header = Base64URL.encode(Array(#"{"alg":"ES256","kid":"\#(keyID)"}"#.utf8))
    let claims = Base64URL.encode(Array(#"{"iss":"\#(teamID)","iat":\#(issuedAt)}"#.utf8))
    let signature = try (key ?? self.key).sign(Array("\(header).\(claims)".utf8))
    return "bearer \(header).\(claims).\(Base64URL.encode(signature.raw))"
  }

  /// Sends a push, by default for a Live Activity.
  func push(
    _ payload: String, to token: String = deviceToken, authorization: String? = nil, id: String? = nil,
    pushType: String = "liveactivity", topic: String = liveTopic, priority: String? = nil,
    expiration: String? = nil
  ) throws -> Outcome {
    var fields = PushFields()
    fields.authorization = try authorization ?? lastAuthorization()
    fields.topic = topic
    fields.pushType = pushType
    fields.id = id
    fields.priority = priority
    fields.expiration = expiration
    let request = ReceivedPush(
      method: "POST", path: "/3/device/\(token)", fields: fields, body: Array(payload.utf8),
      bodyBytes: payload.utf8.count)
    return simulator.handle(request, connection: &connection)
  }

  private var kept: String?
  private func lastAuthorization() throws -> String {
    if let kept { return kept }
    let made = try authorization()
    kept = made
    return made
  }

  func screen(_ key: String = deviceToken) -> Screen? { simulator.state.withLock { $0.screens[key] } }

  func update(_ state: String, at timestamp: Int64, event: String = "update") -> String {
    #"{"aps":{"event":"\#(event)","timestamp":\#(timestamp),"content-state":\#(state)}}"#
  }
}

extension Outcome {
  var answer: Answer? {
    switch action {
    case .answer(let answer), .answerAndGoAway(let answer): answer
    case .reset, .close, .nothing: nil
    }
  }

  /// The status, and the reason of a refusal.
  var text: String {
    guard let answer else { return "none" }
    return answer.refusal.map { "\(answer.status) \($0.reason.text)" } ?? "\(answer.status)"
  }
}
