import CampanileClient

/// The tokens of an app on one device, and which of them Activities still has to learn. No I/O.
///
/// Activities keeps one token for each place, and ignores those that are older than the known one. A repetition is
/// therefore harmless, but needs a call: the registry omits the tokens that it has requested to register before.
struct TokenRegistry {
  /// The purpose of a token. Activities keeps one token for each.
  struct Place: Hashable, Sendable {
    var kind: PushTokenKind
    /// For update tokens only.
    var activityID = ""
    /// For push-to-start tokens only.
    var attributesType = ""

    static let device = Place(kind: .device)
    static func pushToStart(_ attributesType: String) -> Place {
      Place(kind: .pushToStart, attributesType: attributesType)
    }
    static func update(_ activityID: String) -> Place { Place(kind: .activityUpdate, activityID: activityID) }

    /// The object of an outbox, so that a token follows the start of its activity.
    var object: String { activityID.isEmpty ? "pushToken/\(kind.rawValue)/\(attributesType)" : activityID }
  }

  private let configuration: RegistrarConfiguration
  private var tokens: [Place: String] = [:]
  private var ended: Set<String> = []
  private var frequentPushes: Bool?
  /// The number of ended activities that the registry remembers.
  static let endedMax = 1_000

  init(_ configuration: RegistrarConfiguration) { self.configuration = configuration }

  /// Records a registration that waits since an earlier run.
  mutating func waits(_ request: RegisterPushTokenRequest) {
    tokens[Place(kind: request.kind, activityID: request.activityId, attributesType: request.attributesType)] =
      request.token
  }

  /// Returns the registration of a token; `nil` if it was requested before, or if its activity has ended.
  mutating func received(_ token: [UInt8], for place: Place, atMs: Int64) -> RegisterPushTokenRequest? {
    let text = Hexadecimal.text(token)
    guard !text.isEmpty, tokens[place] != text, !ended.contains(place.activityID) else { return nil }
    tokens[place] = text
    return RegisterPushTokenRequest(
      kind: place.kind, token: text, app: configuration.app, environment: configuration.environment.rawValue,
      installationId: configuration.installationID, activityId: place.activityID, attributesType: place.attributesType,
      tokenTime: ProtoTimestamp(millisecondsSince1970: atMs), osVersion: configuration.osVersion,
      frequentPushesEnabled: frequentPushes)
  }

  /// Records that a registration could not be stored, so that the next token of the place is requested again.
  mutating func failed(_ place: Place) { tokens[place] = nil }

  /// Returns the end of an activity that the device no longer shows; `nil` if it was requested before.
  mutating func disappeared(_ activityID: String) -> EndActivityRequest? {
    guard !ended.contains(activityID) else { return nil }
    if ended.count >= Self.endedMax { ended.removeAll() }
    ended.insert(activityID)
    tokens[.update(activityID)] = nil
    return EndActivityRequest(activityId: activityID)
  }

  /// Returns the report of the user's choice of frequent pushes; `nil` if it has not changed.
  mutating func frequentPushes(_ isEnabled: Bool) -> UpdateInstallationRequest? {
    guard frequentPushes != isEnabled else { return nil }
    frequentPushes = isEnabled
    return UpdateInstallationRequest(
      app: configuration.app, installationId: configuration.installationID, osVersion: configuration.osVersion,
      frequentPushesEnabled: isEnabled)
  }
}
