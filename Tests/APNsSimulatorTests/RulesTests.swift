import APNs
import Testing

@testable import APNsSimulator

/// One row of the table: a change of valid facts, and the expected response.
struct RuleCase: Sendable, CustomTestStringConvertible {
  var name: String
  var expected: String
  var change: @Sendable (inout PushContext) -> Void
  var isBroadcast = false

  init(
    _ name: String, _ expected: String, broadcast: Bool = false,
    _ change: @escaping @Sendable (inout PushContext) -> Void
  ) {
    self.name = name
    self.expected = expected
    self.change = change
    isBroadcast = broadcast
  }

  var testDescription: String { "\(name): \(expected)" }
}

/// Apple's rules for requests. Each table has the pages that state them.
@Suite struct RulesTests {
  /// "Sending notification requests to APNs", "Sending broadcast push notification requests to APNs", "Sending channel
  /// management requests to APNs", and "Registering your app with APNs" for the lengths of tokens.
  static let paths: [RuleCase] = [
    RuleCase("nothing wrong", "200") { _ in },
    RuleCase("another path", "404 BadPath") { $0.path = "/3/devices/ab" },
    RuleCase("an older path", "404 BadPath") { $0.path = "/2/device/ab" },
    RuleCase("no path", "404 BadPath") { $0.path = "/" },
    RuleCase("an invalid bundle id", "404 BadPath") { $0.path = "/4/broadcasts/apps/a%20b" },
    RuleCase("GET", "405 MethodNotAllowed") { $0.method = "GET" },
    RuleCase("GET of a broadcast", "405 MethodNotAllowed", broadcast: true) { $0.method = "GET" },
    RuleCase("DELETE of all channels", "405 MethodNotAllowed") {
      $0.path = "/1/apps/\(bundleID)/all-channels"
      $0.method = "DELETE"
    },
    RuleCase("no token", "400 MissingDeviceToken") { $0.path = "/3/device/" },
    RuleCase("odd digits", "400 BadDeviceToken") { $0.path = "/3/device/abc" },
    RuleCase("no digits", "400 BadDeviceToken") { $0.path = "/3/device/zz" },
    RuleCase("too many digits", "400 BadDeviceToken") { $0.path = "/3/device/" + String(repeating: "ab", count: 201) },
    RuleCase("short token", "200") { $0.path = "/3/device/abcd" },
    RuleCase("long token", "200") { $0.path = "/3/device/" + String(repeating: "ab", count: 200) },
  ]

  /// "Sending notification requests to APNs"; for payloads "Generating a remote notification".
  static let fields: [RuleCase] = [
    RuleCase("a field twice", "400 DuplicateHeaders") { $0.fields.add("apns-topic", "x") },
    RuleCase("an id that is not a UUID", "400 BadMessageId") { $0.fields.id = "1" },
    RuleCase("an id without hyphens", "400 BadMessageId") { $0.fields.id = String(repeating: "a", count: 36) },
    RuleCase("no id", "200") { $0.fields.id = nil },
    RuleCase("expiration with a sign", "400 BadExpirationDate") { $0.fields.expiration = "-1" },
    RuleCase("expiration that is not a number", "400 BadExpirationDate") { $0.fields.expiration = "2026-11-21" },
    RuleCase("expiration too large", "400 BadExpirationDate") { $0.fields.expiration = "99999999999999999999" },
    RuleCase("no expiration", "200") { $0.fields.expiration = nil },
    RuleCase("empty collapse id", "400 BadCollapseId") { $0.fields.collapseID = "" },
    RuleCase("collapse id of 65 bytes", "400 BadCollapseId") {
      $0.fields.collapseID = String(repeating: "c", count: 65)
    },
    RuleCase("collapse id of 64 bytes", "200") { $0.fields.collapseID = String(repeating: "c", count: 64) },
    RuleCase("priority 7", "400 BadPriority") { $0.fields.priority = "7" },
    RuleCase("priority in words", "400 BadPriority") { $0.fields.priority = "high" },
    RuleCase("Live Activity with priority 1", "400 BadPriority") { $0.fields.priority = "1" },
    RuleCase("background with priority 10", "400 BadPriority") {
      $0.fields.pushType = "background"
      $0.fields.topic = bundleID
      $0.fields.priority = nil
    },
    RuleCase("background with priority 5", "200") {
      $0.fields.pushType = "background"
      $0.fields.topic = bundleID
    },
    RuleCase("no topic", "400 MissingTopic") { $0.fields.topic = nil },
    RuleCase("empty topic", "400 MissingTopic") { $0.fields.topic = "" },
    RuleCase("Live Activity without the suffix", "400 BadTopic") { $0.fields.topic = bundleID },
    RuleCase("alert with the suffix", "400 BadTopic") { $0.fields.pushType = "alert" },
    RuleCase("no push type with the suffix", "400 BadTopic") { $0.fields.pushType = nil },
    RuleCase("no push type", "200") {
      $0.fields.pushType = nil
      $0.fields.topic = bundleID
    },
    RuleCase("an invalid topic", "400 BadTopic") {
      $0.fields.pushType = "alert"
      $0.fields.topic = "no topic"
    },
    RuleCase("unknown push type", "400 InvalidPushType") { $0.fields.pushType = "pause" },
    RuleCase("app of another team", "400 TopicDisallowed") { $0.fields.topic = "com.other.push-type.liveactivity" },
    RuleCase("no body", "400 PayloadEmpty") { $0.bodyBytes = 0 },
    RuleCase("4,096 bytes", "200") { $0.bodyBytes = 4096 },
    RuleCase("4,097 bytes", "413 PayloadTooLarge") { $0.bodyBytes = 4097 },
    RuleCase("VoIP with 5,120 bytes", "200") {
      $0.bodyBytes = 5120
      $0.fields.pushType = "voip"
      $0.fields.topic = bundleID + ".voip"
    },
  ]

  /// "Establishing a token-based connection to APNs".
  static let providers: [RuleCase] = [
    RuleCase("no token", "403 MissingProviderToken") { $0.provider = .missing },
    RuleCase("not a JWT", "403 InvalidProviderToken") { $0.provider = .malformed("why") },
    RuleCase("unknown key", "403 InvalidProviderToken") { $0.provider = .unknownKey(claims()) },
    RuleCase("wrong signature", "403 InvalidProviderToken") { $0.provider = .wrongSignature(claims()) },
    RuleCase("60 minutes old", "200") { $0.provider = .verified(claims(age: 3600), goodKey) },
    RuleCase("60 minutes and a second old", "403 ExpiredProviderToken") {
      $0.provider = .verified(claims(age: 3601), goodKey)
    },
    RuleCase("a minute ahead", "200") { $0.provider = .verified(claims(age: -60), goodKey) },
    RuleCase("two minutes ahead", "403 InvalidProviderToken") { $0.provider = .verified(claims(age: -120), goodKey) },
    RuleCase("far in the future", "403 InvalidProviderToken") {
      $0.provider = .verified(
        ProviderClaims(keyID: "ABCDE12345", teamID: "TEAM123456", issuedAtSeconds: .max), goodKey)
    },
    RuleCase("another key on the connection", "403 UnrelatedKeyIdInToken") {
      $0.connectionIssue = issue(keyID: "OTHER12345")
    },
    RuleCase("another team on the connection", "403 InvalidProviderToken") {
      $0.connectionIssue = issue(teamID: "OTHER12345")
    },
    RuleCase("a new token after 19 minutes", "429 TooManyProviderTokenUpdates") { $0.lastIssue = issue(seenAgo: 1199) },
    RuleCase("a new token after 20 minutes", "200") { $0.lastIssue = issue(seenAgo: 1200) },
    RuleCase("the same token again", "200") { $0.lastIssue = issue(age: 60, seenAgo: 1) },
    RuleCase("key for the other environment", "403 BadEnvironmentKeyIdInToken") {
      var key = goodKey
      key.environment = .sandbox
      $0.provider = .verified(claims(), key)
    },
  ]

  /// "Handling notification responses from APNs".
  static let devices: [RuleCase] = [
    RuleCase("known token", "200") { $0.device = record() },
    RuleCase("token of another app", "400 DeviceTokenNotForTopic") {
      $0.device = record()
      $0.device?.bundleID = "com.other"
    },
    RuleCase("alert token for an activity", "400 DeviceTokenNotForTopic") { $0.device = record(.device) },
    RuleCase("activity token for an alert", "400 DeviceTokenNotForTopic") {
      $0.device = record()
      $0.fields.pushType = "alert"
      $0.fields.topic = bundleID
    },
    RuleCase("token of the other environment", "400 BadDeviceToken") {
      $0.device = record()
      $0.device?.environment = .sandbox
    },
    RuleCase("unregistered", "410 Unregistered") {
      $0.device = record()
      $0.device?.rejection = .init(reason: .unregistered, timestampMs: 5)
    },
    RuleCase("expired", "410 ExpiredToken") {
      $0.device = record()
      $0.device?.rejection = .init(reason: .expiredToken, timestampMs: 5)
    },
  ]

  /// "Sending broadcast push notification requests to APNs", "Sending channel management requests to APNs".
  static let broadcasts: [RuleCase] = [
    RuleCase("nothing wrong", "200", broadcast: true) { _ in },
    RuleCase("no channel", "400 MissingChannelId", broadcast: true) { $0.fields.channelID = nil },
    RuleCase("channel that is not base64", "400 BadChannelId", broadcast: true) { $0.fields.channelID = "?" },
    RuleCase("unknown channel", "400 ChannelNotRegistered", broadcast: true) { $0.channel = nil },
    RuleCase("no push type", "400 MissingPushType", broadcast: true) { $0.fields.pushType = nil },
    RuleCase("alert", "400 InvalidPushType", broadcast: true) { $0.fields.pushType = "alert" },
    RuleCase("no expiration", "400 BadExpirationDate", broadcast: true) { $0.fields.expiration = nil },
    RuleCase("expiration in a channel without storage", "400 BadExpirationDate", broadcast: true) {
      $0.fields.expiration = "1795262500"
    },
    RuleCase("expiration in a channel with storage", "200", broadcast: true) {
      $0.fields.expiration = "1795262500"
      $0.channel?.storesMessages = true
    },
    RuleCase("5,120 bytes", "200", broadcast: true) { $0.bodyBytes = 5120 },
    RuleCase("5,121 bytes", "413 PayloadTooLarge", broadcast: true) { $0.bodyBytes = 5121 },
    RuleCase("app of another team", "400 TopicDisallowed", broadcast: true) {
      $0.path = "/4/broadcasts/apps/com.other"
    },
  ]

  static let all = paths + fields + providers + devices + broadcasts

  @Test(arguments: all) func verdict(_ row: RuleCase) {
    var context = row.isBroadcast ? goodBroadcast() : goodContext()
    row.change(&context)
    #expect(text(PushRules.judge(context, limits: Self.limits)) == row.expected)
  }

  /// The endpoint of the table is production.
  private static let limits: SimulatorLimits = {
    var limits = SimulatorLimits()
    limits.environment = .production
    return limits
  }()

  @Test func unregisteredTokensAreRejectedIfOnlyRegisteredOnesAreValid() {
    var limits = Self.limits
    limits.registeredTokensOnly = true
    #expect(text(PushRules.judge(goodContext(), limits: limits)) == "400 BadDeviceToken")
  }

  @Test func rejectionsIncludeTheirTimestamp() {
    var context = goodContext()
    context.device = record()
    context.device?.rejection = .init(reason: .unregistered, timestampMs: 1_700_000_000_123)
    guard case .failure(let refusal) = PushRules.judge(context, limits: Self.limits) else {
      Issue.record("it was accepted")
      return
    }
    #expect(refusal.timestampMs == 1_700_000_000_123)
  }

  @Test func oversizedPayloadsReportTheExcess() {
    var context = goodContext()
    context.bodyBytes = 5000
    guard case .failure(let refusal) = PushRules.judge(context, limits: Self.limits) else {
      Issue.record("it was accepted")
      return
    }
    #expect(refusal.detail.contains("904 bytes above 4096"))
  }

  /// Reasons that no rule of a token-based connection produces; they can be scripted.
  private static let scriptedOnly: Set<APNsReason> = [
    .badCertificate, .badCertificateEnvironment, .forbidden, .idleTimeout, .internalServerError, .serviceUnavailable,
    .shutdown, .tooManyRequests, .featureNotEnabled, .badEnvironmentKeyInToken,
  ]
  /// Tested with channel management.
  private static let ofManagement: Set<APNsReason> = [.cannotCreateChannelConfig]

  @Test func everyReasonIsInTheTableOrScripted() {
    let inTable = Set(Self.all.compactMap { APNsReason.known(String($0.expected.dropFirst(4))) })
    #expect(inTable.union(Self.scriptedOnly).union(Self.ofManagement) == Set(APNsReason.all))
    #expect(inTable.isDisjoint(with: Self.scriptedOnly))
  }

  private func text(_ verdict: Result<AcceptedPush, Refusal>) -> String {
    switch verdict {
    case .success: "200"
    case .failure(let refusal): "\(refusal.reason.status) \(refusal.reason.text)"
    }
  }
}

private func claims(age: Int64 = 60) -> ProviderClaims {
  ProviderClaims(keyID: "ABCDE12345", teamID: "TEAM123456", issuedAtSeconds: nowMs / 1000 - age)
}

private func issue(
  keyID: String = "ABCDE12345", teamID: String = "TEAM123456", age: Int64 = 2000, seenAgo: Int64 = 1
) -> ProviderIssue {
  ProviderIssue(
    keyID: keyID, teamID: teamID, issuedAtSeconds: nowMs / 1000 - age, seenAtMs: nowMs - seenAgo * 1000)
}

private func record(_ kind: DeviceRecord.Kind = .activity) -> DeviceRecord {
  DeviceRecord(bundleID: bundleID, kind: kind, registeredAtMs: 0)
}
