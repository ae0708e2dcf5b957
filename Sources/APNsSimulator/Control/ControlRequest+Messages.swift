import APNs
import CampanileCodec

extension ControlRequest {
  /// The latest accepted time, in the year 2286.
  private static let timeMsMax: Int64 = 9_999_999_999_999
  private static let durationMsMax: Int64 = 86_400_000

  /// Parses `{"teamId","keyId","publicKeyPem","environment"?,"bundleIds"?}`.
  ///
  /// A member `topic`, as in `endpoints.json`, is accepted and ignored.
  static func signingKey(_ body: [UInt8]) throws(ControlError) -> SigningKey {
    let key = try read(body, into: SigningKey(teamID: "", keyID: "", publicKeyPEM: "")) { key, name, reader in
      switch name {
      case "teamId": key.teamID = try reader.string()
      case "keyId": key.keyID = try reader.string()
      case "publicKeyPem": key.publicKeyPEM = try reader.string()
      case "environment": key.environment = try word(APNsEnvironment.self, name, &reader)
      case "bundleIds": key.bundleIDs = try strings(&reader)
      case "topic": _ = try reader.string()
      default: return false
      }
      return true
    }
    guard !key.teamID.isEmpty, !key.keyID.isEmpty, !key.publicKeyPEM.isEmpty else {
      throw .invalid("teamId, keyId and publicKeyPem are required")
    }
    return key
  }

  /// A token to register.
  struct NewDevice {
    var token = ""
    var record: DeviceRecord
    /// The push-to-start token whose activity the token updates.
    var startToken: String?
  }

  /// Parses `{"token","bundleId","kind"?,"environment"?,"device"?,"startToken"?}`.
  static func device(_ body: [UInt8], nowMs: Int64) throws(ControlError) -> (DeviceToken, NewDevice) {
    let initial = NewDevice(record: DeviceRecord(bundleID: "", kind: .device, registeredAtMs: nowMs))
    let new = try read(body, into: initial) { value, name, reader in
      switch name {
      case "token": value.token = try reader.string()
      case "bundleId": value.record.bundleID = try reader.string()
      case "kind": value.record.kind = try word(DeviceRecord.Kind.self, name, &reader)
      case "environment": value.record.environment = try word(APNsEnvironment.self, name, &reader)
      case "device": value.record.device = try reader.string()
      case "startToken": value.startToken = try reader.string().lowercased()
      default: return false
      }
      return true
    }
    guard let token = DeviceToken(new.token) else { throw .invalid("token must be hexadecimal digits") }
    guard Topic.isBundleID(new.record.bundleID) else { throw .invalid("bundleId must be a bundle id") }
    guard new.record.device.map({ (1...128).contains($0.utf8.count) }) ?? true else {
      throw .invalid("device must have 1 to 128 bytes")
    }
    return (token, new)
  }

  /// Parses `{"reason"?,"timestampMs"?}`; the defaults are Unregistered and now.
  static func rejection(_ body: [UInt8], nowMs: Int64) throws(ControlError) -> DeviceRecord.Rejection {
    try read(body, into: DeviceRecord.Rejection(reason: .unregistered, timestampMs: nowMs)) { value, name, reader in
      switch name {
      case "reason": value.reason = try reason(try reader.string(), status: nil)
      case "timestampMs": value.timestampMs = try number(name, 0...timeMsMax, &reader)
      default: return false
      }
      return true
    }
  }

  private static func reason(_ text: String, status: Int?) throws -> APNsReason {
    if let known = APNsReason.known(text) { return APNsReason(text: text, status: status ?? known.status) }
    guard let status else { throw ControlError.invalid("the reason \(text) is not one of Apple's; add a status") }
    return APNsReason(text: text, status: status)
  }

  private struct Fault {
    var rule = FaultRule(.goAway)
    var action = ""
    var status: Int?
    var reason: String?
    var timestampMs: Int64?
    var retryAfterSeconds: Int64?
    var minMs: Int64 = 0
    var maxMs: Int64 = 0
    var isProcessed = false
    var durationMs: Int64?
  }

  /// Parses `{"action","match"?,"every"?,"probability"?,"count"?,"durationMs"?}` and the members of the action.
  ///
  /// - `answer`: `"reason"`, `"status"?`, `"timestampMs"?`, `"retryAfterSeconds"?`
  /// - `delay`: `"minMs"`, `"maxMs"`
  /// - `reset`, `close`, `stall`: `"processed"?`
  static func fault(_ body: [UInt8], nowMs: Int64) throws(ControlError) -> FaultRule {
    let fault = try read(body, into: Fault()) { fault, name, reader in
      switch name {
      case "action": fault.action = try reader.string()
      case "match": try match(&fault.rule.match, &reader)
      case "every": fault.rule.every = Int(try number(name, 1...1_000_000_000, &reader))
      case "probability": fault.rule.probability = try reader.double()
      case "count": fault.rule.remaining = Int(try number(name, 1...1_000_000_000, &reader))
      case "durationMs": fault.durationMs = try number(name, 1...durationMsMax, &reader)
      case "status": fault.status = Int(try number(name, 200...599, &reader))
      case "reason": fault.reason = try reader.string()
      case "timestampMs": fault.timestampMs = try number(name, 0...timeMsMax, &reader)
      case "retryAfterSeconds": fault.retryAfterSeconds = try number(name, 0...86_400, &reader)
      case "minMs": fault.minMs = try number(name, 0...durationMsMax, &reader)
      case "maxMs": fault.maxMs = try number(name, 0...durationMsMax, &reader)
      case "processed": fault.isProcessed = try reader.bool()
      default: return false
      }
      return true
    }
    var rule = fault.rule
    rule.untilMs = fault.durationMs.map { nowMs + $0 }
    guard (0...1).contains(rule.probability) else { throw .invalid("probability must be from 0 to 1") }
    rule.action = try action(fault)
    return rule
  }

  private static func action(_ fault: Fault) throws(ControlError) -> FaultAction {
    switch fault.action {
    case "answer":
      guard let text = fault.reason else { throw .invalid("an answer needs a reason") }
      let known: APNsReason
      do {
        known = try reason(text, status: fault.status)
      } catch {
        throw error as? ControlError ?? .invalid("\(error)")
      }
      return .answer(
        Refusal(known, "scripted", timestampMs: fault.timestampMs, retryAfterSeconds: fault.retryAfterSeconds))
    case "delay":
      guard fault.minMs <= fault.maxMs else { throw .invalid("minMs must not be greater than maxMs") }
      return .delay(minMs: fault.minMs, maxMs: fault.maxMs)
    case "goaway": return .goAway
    case "reset": return .reset(isProcessed: fault.isProcessed)
    case "close": return .close(isProcessed: fault.isProcessed)
    case "stall": return .stall(isProcessed: fault.isProcessed)
    default: throw .invalid("action must be one of answer, delay, goaway, reset, close, stall")
    }
  }

  private static func match(_ match: inout FaultMatch, _ reader: inout JSONReader) throws {
    try object(&reader) { name, reader in
      switch name {
      case "pathPrefix": match.pathPrefix = try reader.string()
      case "topic": match.topic = try reader.string()
      case "pushType": match.pushType = try reader.string()
      case "keyId": match.keyID = try reader.string()
      default: return false
      }
      return true
    }
  }

  /// Settings that can be changed at run time; absent members stay unchanged.
  struct Settings: Sendable, Hashable {
    var tokenRenewalScope: TokenRenewalScope?
    var tokenRenewalMs: Int64?
    var registeredTokensOnly: Bool?
    var updatesPerHour: Int?
    var backgroundsPerHour: Int?
    var tlsFault: TLSFault?
  }

  /// Parses `{"tokenRenewalScope"?,"tokenRenewalMs"?,"registeredTokensOnly"?,"updatesPerHour"?,"backgroundsPerHour"?,
  /// "tlsFault"?}`. The numbers are 0 for no limit.
  static func settings(_ body: [UInt8]) throws(ControlError) -> Settings {
    try read(body, into: Settings()) { settings, name, reader in
      switch name {
      case "tokenRenewalScope": settings.tokenRenewalScope = try word(TokenRenewalScope.self, name, &reader)
      case "tokenRenewalMs": settings.tokenRenewalMs = try number(name, 0...durationMsMax, &reader)
      case "registeredTokensOnly": settings.registeredTokensOnly = try reader.bool()
      case "updatesPerHour": settings.updatesPerHour = try perHour(name, &reader)
      case "backgroundsPerHour": settings.backgroundsPerHour = try perHour(name, &reader)
      case "tlsFault": settings.tlsFault = try word(TLSFault.self, name, &reader)
      default: return false
      }
      return true
    }
  }

  private static func perHour(_ name: String, _ reader: inout JSONReader) throws -> Int {
    Int(try number(name, 0...Int64(DeviceBudget.perHourMax), &reader))
  }
}
