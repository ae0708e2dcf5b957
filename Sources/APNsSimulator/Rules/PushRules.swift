import APNs

/// Apple's rules for a request, as a pure function ("Sending notification requests to APNs", "Handling notification
/// responses from APNs", "Sending broadcast push notification requests to APNs").
///
/// Apple does not document the order of the checks. The order here is: path, header fields, provider token, topic or
/// channel, payload, the key's apps, device. The device is last so that senders learn of their own mistakes first.
enum PushRules {
  /// Returns APNs' verdict on a request.
  static func judge(_ context: PushContext, limits: SimulatorLimits) -> Result<AcceptedPush, Refusal> {
    Result { () throws(Refusal) in try check(context, limits: limits) }
  }

  private static func check(_ context: PushContext, limits: SimulatorLimits) throws(Refusal) -> AcceptedPush {
    let address = try address(method: context.method, path: context.path)
    try checkCommonFields(context.fields)
    let key = try provider(context, limits: limits)
    var push: AcceptedPush
    switch address {
    case .device(let token):
      push = try devicePush(context.fields, token: token)
      try checkPayload(context.bodyBytes, max: APNsLimits.payloadBytesMax(push.topic.pushType))
    case .broadcast(let bundleID):
      push = try broadcast(context, bundleID: bundleID)
      try checkPayload(context.bodyBytes, max: APNsLimits.largePayloadBytesMax)
    case .channels, .allChannels:
      push = AcceptedPush(
        address: address, topic: Topic(bundleID: address.bundleID ?? "", pushType: .liveactivity), priority: 10)
    }
    push.address = address
    guard key.allows(bundleID: push.topic.bundleID) else {
      throw Refusal(.topicDisallowed, "team \(key.teamID) has no app \(push.topic.bundleID)")
    }
    if case .device = address {
      try checkDevice(context.device, topic: push.topic, limits: limits, nowMs: context.nowMs)
    }
    return push
  }

  // MARK: - path

  static func address(method: String, path: String) throws(Refusal) -> PushAddress {
    if let rest = suffix(path, after: APNsPath.device) {
      try allow(method, ["POST"])
      guard !rest.isEmpty else { throw Refusal(.missingDeviceToken, "the path has no token") }
      guard let token = DeviceToken(rest) else { throw Refusal(.badDeviceToken, "the token is not hexadecimal") }
      return .device(token)
    }
    if let rest = suffix(path, after: APNsPath.broadcasts), Topic.isBundleID(rest) {
      try allow(method, ["POST"])
      return .broadcast(bundleID: rest)
    }
    if let rest = suffix(path, after: APNsPath.apps), let slash = rest.firstIndex(of: "/") {
      let bundleID = String(rest[..<slash])
      let kind = rest[slash...]
      if Topic.isBundleID(bundleID), kind == APNsPath.allChannels {
        try allow(method, ["GET"])
        return .allChannels(bundleID: bundleID)
      }
      if Topic.isBundleID(bundleID), kind == APNsPath.channels {
        try allow(method, ["POST", "GET", "DELETE"])
        let channelMethod: PushAddress.ChannelMethod =
          method == "POST" ? .create : (method == "GET" ? .read : .delete)
        return .channels(bundleID: bundleID, method: channelMethod)
      }
    }
    throw Refusal(.badPath, "no such path")
  }

  private static func suffix(_ path: String, after prefix: String) -> String? {
    path.hasPrefix(prefix) ? String(path.dropFirst(prefix.count)) : nil
  }

  private static func allow(_ method: String, _ methods: [String]) throws(Refusal) {
    guard methods.contains(method) else {
      throw Refusal(.methodNotAllowed, "only \(methods.joined(separator: ", ")) is allowed")
    }
  }

  // MARK: - header fields

  private static func checkCommonFields(_ fields: PushFields) throws(Refusal) {
    if let name = fields.duplicate { throw Refusal(.duplicateHeaders, "\(name) occurs twice") }
    if let id = fields.id, !isCanonicalUUID(id) { throw Refusal(.badMessageID, "apns-id is not a canonical UUID") }
    if let id = fields.requestID, !isCanonicalUUID(id) {
      throw Refusal(.badMessageID, "apns-request-id is not a canonical UUID")
    }
    if let expiration = fields.expiration, seconds(expiration) == nil {
      throw Refusal(.badExpirationDate, "apns-expiration is not a whole number of seconds")
    }
    if let collapseID = fields.collapseID, !(1...APNsLimits.collapseIDBytesMax).contains(collapseID.utf8.count) {
      throw Refusal(.badCollapseID, "apns-collapse-id has \(collapseID.utf8.count) bytes")
    }
    if let priority = fields.priority, !APNsLimits.priorities.map(String.init).contains(priority) {
      throw Refusal(.badPriority, "apns-priority is not 1, 5 or 10")
    }
  }

  private static func devicePush(_ fields: PushFields, token: DeviceToken) throws(Refusal) -> AcceptedPush {
    guard let text = fields.topic, !text.isEmpty else { throw Refusal(.missingTopic, "apns-topic is missing") }
    let pushType: PushType
    if let name = fields.pushType {
      guard let known = PushType(rawValue: name) else { throw Refusal(.invalidPushType, "unknown push type \(name)") }
      pushType = known
    } else {
      // Older senders omit the type; the push then counts as an alert. Apple requires it for watchOS only ("Sending
      // notification requests to APNs").
      pushType = .alert
    }
    guard let topic = Topic(text: text, pushType: pushType) else {
      throw Refusal(.badTopic, "\(text) is not the topic of a \(pushType) push")
    }
    var push = AcceptedPush(address: .device(token), topic: topic, priority: APNsLimits.priorityDefault)
    try complete(&push, fields)
    return push
  }

  /// Checks a broadcast ("Sending broadcast push notification requests to APNs").
  private static func broadcast(_ context: PushContext, bundleID: String) throws(Refusal) -> AcceptedPush {
    let fields = context.fields
    guard let name = fields.pushType else { throw Refusal(.missingPushType, "apns-push-type is missing") }
    guard name == PushType.liveactivity.rawValue else {
      throw Refusal(.invalidPushType, "only a liveactivity push can be broadcast")
    }
    let channel = try ChannelRules.existing(fields.channelID, context.channel)
    guard fields.priority != nil else { throw Refusal(.badPriority, "apns-priority is missing") }
    guard let expiration = fields.expiration.flatMap(seconds) else {
      throw Refusal(.badExpirationDate, "apns-expiration is missing")
    }
    guard channel.storesMessages || expiration == 0 else {
      throw Refusal(.badExpirationDate, "the channel does not store messages, so apns-expiration must be 0")
    }
    var push = AcceptedPush(
      address: .broadcast(bundleID: bundleID), topic: Topic(bundleID: bundleID, pushType: .liveactivity),
      priority: APNsLimits.priorityDefault)
    push.channelID = fields.channelID
    try complete(&push, fields)
    return push
  }

  /// Reads the remaining fields. A background push must not have the priority 10 ("Pushing background updates to your
  /// App").
  private static func complete(_ push: inout AcceptedPush, _ fields: PushFields) throws(Refusal) {
    if let priority = fields.priority.flatMap(Int.init) { push.priority = priority }
    switch push.topic.pushType {
    case .background where push.priority == 10:
      throw Refusal(.badPriority, "a background push must have apns-priority 5 or less")
    case .liveactivity where push.priority == 1:
      throw Refusal(.badPriority, "a liveactivity push must have apns-priority 5 or 10")
    default: break
    }
    push.expirationSeconds = fields.expiration.flatMap(seconds)
    push.collapseID = fields.collapseID
  }

  /// Checks the size of a body ("Generating a remote notification").
  private static func checkPayload(_ bytes: Int, max: Int) throws(Refusal) {
    guard bytes > 0 else { throw Refusal(.payloadEmpty, "the body is empty") }
    guard bytes <= max else { throw Refusal(.payloadTooLarge, "the body is \(bytes - max) bytes above \(max)") }
  }

  /// Checks that the token is valid here, for this app and this type of push ("Handling notification responses from
  /// APNs").
  private static func checkDevice(
    _ device: DeviceRecord?, topic: Topic, limits: SimulatorLimits, nowMs: Int64
  ) throws(Refusal) {
    guard let device else {
      if limits.registeredTokensOnly { throw Refusal(.badDeviceToken, "the token is not registered") }
      return
    }
    guard device.environment.fits(limits.environment) else {
      throw Refusal(.badDeviceToken, "the token is for \(device.environment.rawValue)")
    }
    guard device.bundleID == topic.bundleID else {
      throw Refusal(.deviceTokenNotForTopic, "the token is for \(device.bundleID)")
    }
    guard device.kind.takes(topic.pushType) else {
      throw Refusal(.deviceTokenNotForTopic, "the token is a \(device.kind.rawValue) token")
    }
    if let rejection = device.rejection, rejection.timestampMs <= nowMs {
      throw Refusal(rejection.reason, "the token is no longer valid", timestampMs: rejection.timestampMs)
    }
  }

  // MARK: - forms

  /// Returns whether `text` consists of 8-4-4-4-12 hexadecimal digits (RFC 9562 section 4).
  static func isCanonicalUUID(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    guard bytes.count == 36 else { return false }
    return bytes.enumerated().allSatisfy { index, byte in
      switch index {
      case 8, 13, 18, 23: byte == UInt8(ascii: "-")
      default:
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
          UInt8(ascii: "A")...UInt8(ascii: "F"):
          true
        default: false
        }
      }
    }
  }

  /// Parses a number of seconds without a sign.
  private static func seconds(_ text: String) -> Int64? {
    guard text.utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains) else { return nil }
    return Int64(text)
  }
}
