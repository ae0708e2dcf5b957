import APNs
import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService

/// The purpose of a token. Raw values are stored in the database and equal those of `PushTokenKind`.
enum TokenKind: Int64, Sendable, CaseIterable {
  case device = 1
  case update = 2
  case pushToStart = 3
  case channel = 4
  case widgets = 5
  case control = 6
}

/// The life-cycle state of a token. Raw values are stored in the database.
enum TokenState: Int64, Sendable {
  case live = 1
  /// Its activity has ended. Queued pushes are still sent; no new ones are queued.
  case ended = 2
  case retired = 3
}

/// A validated token to register.
struct TokenDraft: Sendable, Hashable {
  var kind: TokenKind
  /// The bytes of a device token, or the text of a channel id.
  var token: [UInt8]
  var app: String
  var environment: String
  var installationID: String
  /// The activity of an update token, the attributes type of a push-to-start token, or the id of a control.
  var subject: String
  /// Time of the registration by the device's clock; nil for now.
  var timeMs: Int64?
  var values = InstallationValues()
  var traceParent: String?
}

extension TokenDraft {
  /// Validates a request. Throws INVALID_ARGUMENT naming every invalid field.
  init(_ request: RegisterPushTokenRequest, policy: ActivitiesPolicy) throws(RPCError) {
    var violations = Violations()
    let kind = TokenKind(rawValue: Int64(request.kind.rawValue))
    request.validate(into: &violations)
    token = Self.token(request.token, kind, &violations)
    ActivityRules.app(request.app, "app", &violations)
    ActivityRules.environment(request.environment, "environment", policy, &violations)
    if kind == .update {
      if request.activityId.isEmpty { violations.add("activityId", "is required for an update token", .required) }
    } else if !request.activityId.isEmpty {
      violations.add("activityId", "is for update tokens only", .fieldNotAllowed)
    }
    if kind != .pushToStart, !request.attributesType.isEmpty {
      violations.add("attributesType", "is for push-to-start tokens only", .fieldNotAllowed)
    }
    if kind == .control {
      if request.controlId.isEmpty { violations.add("controlId", "is required for a control's token", .required) }
    } else if !request.controlId.isEmpty {
      violations.add("controlId", "is for the tokens of controls only", .fieldNotAllowed)
    }
    timeMs = TimeRules.milliseconds(request.tokenTime, "tokenTime", &violations)
    try violations.check()
    self.kind = kind ?? .device
    app = request.app
    environment = request.environment
    installationID = request.installationId
    // At most one of them is given.
    subject = request.activityId + request.attributesType + request.controlId
    values = InstallationValues(request.osVersion, hasFrequentPushes: request.frequentPushesEnabled)
  }

  private static func token(_ text: String, _ kind: TokenKind?, _ violations: inout Violations) -> [UInt8] {
    if text.isEmpty { return [] }
    if kind == .channel {
      if !BroadcastRules.isChannelID(text) {
        violations.add("token", "must be a channel id: up to 128 characters of base64", .tokenInvalid)
      }
      return Array(text.utf8)
    }
    guard let token = DeviceToken(text) else {
      violations.add(
        "token", "must be an even number of hexadecimal digits, \(2 * DeviceToken.sizeBytesMax) at most", .tokenInvalid)
      return []
    }
    return bytes(token)
  }

  static func bytes(_ token: DeviceToken) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(token.sizeBytes)
    var high: UInt8?
    for digit in token.hexadecimal.utf8 {
      let value = digit < UInt8(ascii: "a") ? digit - UInt8(ascii: "0") : digit - UInt8(ascii: "a") + 10
      if let first = high {
        bytes.append(first << 4 | value)
        high = nil
      } else {
        high = value
      }
    }
    return bytes
  }
}
