import APNs
import Testing

/// Topics and push types ("Sending notification requests to APNs"), tokens ("Registering your app with APNs"), reasons
/// ("Handling notification responses from APNs") and identifiers ("Establishing a token-based connection to APNs").
@Suite struct VocabularyTests {
  @Test(arguments: [
    (PushType.alert, "com.example.app"), (.background, "com.example.app"), (.voip, "com.example.app.voip"),
    (.liveactivity, "com.example.app.push-type.liveactivity"), (.location, "com.example.app.location-query"),
    (.complication, "com.example.app.complication"), (.fileprovider, "com.example.app.pushkit.fileprovider"),
    (.pushtotalk, "com.example.app.voip-ptt"), (.widgets, "com.example.app.push-type.widgets"),
    (.controls, "com.example.app.push-type.controls"), (.mdm, "com.example.app"),
  ])
  func topicFollowsFromPushType(type: PushType, text: String) {
    #expect(Topic(bundleID: "com.example.app", pushType: type).text == text)
    #expect(Topic(text: text, pushType: type) == Topic(bundleID: "com.example.app", pushType: type))
    #expect(Topic.bundleID(ofText: text) == "com.example.app")
    #expect(PushType(rawValue: type.rawValue) == type)
  }

  @Test(arguments: [
    ("com.example.app", PushType.liveactivity), ("com.example.app.push-type.liveactivity", .alert),
    (".push-type.liveactivity", .liveactivity), ("", .alert), ("a..b", .alert),
    (".a", .alert), ("a.", .alert), ("a b", .alert), ("a/b", .alert), ("è", .alert),
    (String(repeating: "a", count: 156), .alert),
  ])
  func wrongTopics(text: String, type: PushType) { #expect(Topic(text: text, pushType: type) == nil) }

  @Test(arguments: ["Alert", "", "pause", "liveactivity "])
  func unknownPushTypes(text: String) { #expect(PushType(rawValue: text) == nil) }

  @Test(arguments: ["", "0", "abc", "0g", "0x00", " 00", "é0", String(repeating: "0", count: 402)])
  func wrongTokens(text: String) { #expect(DeviceToken(text) == nil) }

  @Test(arguments: [1, 8, 32, 80, 100, 200])
  func tokensOfAnyLength(sizeBytes: Int) throws {
    let token = try #require(DeviceToken(String(repeating: "aB", count: sizeBytes)))
    #expect(token.sizeBytes == sizeBytes)
    #expect(token.hexadecimal == String(repeating: "ab", count: sizeBytes))
  }

  @Test func tokensAreRedactedWhereverTheyAreWritten() throws {
    let token = try #require(DeviceToken("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"))
    var dumped = ""
    dump(token, to: &dumped)
    for text in ["\(token)", String(reflecting: token), dumped, "\([token])", "\(["t": token])"] {
      #expect(text.contains("0123…cdef"))
      #expect(!text.contains("456789"))
    }
    #expect(try #require(DeviceToken("abcdef")).redacted == "ab…")
  }

  @Test func reasonsAreKnownOnceAndRetireOnlyWhatTheyShould() {
    #expect(Set(APNsReason.all.map(\.text)).count == APNsReason.all.count)
    for reason in APNsReason.all { #expect(APNsReason.known(reason.text)?.status == reason.status) }
    #expect(APNsReason.known("Nonsense") == nil)
    #expect(APNsReason.all.filter(\.retiresToken).map(\.text) == ["BadDeviceToken", "ExpiredToken", "Unregistered"])
    #expect(APNsReason(text: "Unregistered", status: 400) == .unregistered)
  }

  @Test(arguments: [("ABCDE12345", true), ("abcde12345", false), ("ABC", false), ("", false), ("ABCDE1234É", false)])
  func identifiers(text: String, isOne: Bool) { #expect(ProviderTokenRules.isIdentifier(text) == isOne) }
}
