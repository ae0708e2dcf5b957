import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import GatewayHTTP

/// The Growth app's Firebase callables over Activities: `POST /<name>`, or `POST /<project>/<region>/<name>` as the SDK
/// calls an emulator.
///
/// They follow the protocol of HTTPS callables (firebase.google.com/docs/functions/callable-reference).
struct FirebaseDialect: HTTPDialect {
  static let eventsType = "text/event-stream"

  let configuration: FirebaseConfiguration
  let nowMs: @Sendable () -> Int64

  enum Function: String, Sendable, CaseIterable {
    case registerLiveActivityPushToken, updateLiveActivity, updateLiveActivityTimer, registerPushToStartToken
    case manageLiveActivityUpdates, getLiveActivityPushToken, updateFrequentPushesSettings

    var method: MethodDescriptor {
      switch self {
      case .registerLiveActivityPushToken, .registerPushToStartToken: PushTokensServiceMethods.registerPushToken
      case .getLiveActivityPushToken: PushTokensServiceMethods.getActivityPushToken
      case .updateFrequentPushesSettings: PushTokensServiceMethods.updateInstallation
      case .updateLiveActivity: ActivitiesServiceMethods.updateActivity
      case .updateLiveActivityTimer: ActivitiesServiceMethods.getActivity
      case .manageLiveActivityUpdates: ActivitiesServiceMethods.setActivityPushes
      }
    }
  }

  func plan(_ request: RequestHead, segments: [Substring]) throws(RPCError) -> DialectPlan? {
    guard segments.count == 1 || segments.count == 3, let last = segments.last,
      let function = Function(rawValue: String(last))
    else { return nil }
    let authorization = request["authorization"]
    guard request.method == "POST" else {
      return DialectPlan.unserved(allowed: ["POST"], authorization, FirebaseAnswer.failure)
    }
    let isStream = request.accepts(Self.eventsType)
    let growth = GrowthCalls(configuration: configuration, identity: .bearer(authorization), nowMs: nowMs)
    return DialectPlan(
      access: .method(function.method), takesBody: true, authorization: authorization, failure: FirebaseAnswer.failure
    ) { (body, calls) async throws(RPCError) in
      try request.checkJSONBody(isTaken: true)
      guard isStream else {
        return FirebaseAnswer.result(try await growth.answer(function, try Self.data(body), calls))
      }
      do throws(RPCError) {
        return FirebaseAnswer.event(
          FirebaseAnswer.result(try await growth.answer(function, try Self.data(body), calls)))
      } catch { return FirebaseAnswer.event(FirebaseAnswer.failure(error)) }
    }
  }

  /// Returns the `data` of a request's body, which must have no other members.
  static func data(_ body: [UInt8]) throws(RPCError) -> JSONFields {
    let fields = try JSONFields(body)
    guard Array(fields.names) == ["data"] else { throw badRequest }
    guard let raw = fields.raw("data") else { return try JSONFields([]) }
    guard raw.first == UInt8(ascii: "{") else { throw badRequest }
    return try JSONFields(try FirebaseNumbers.plain(raw))
  }

  static let badRequest = RPCError(.invalidArgument, "Bad Request", reason: "BODY_INVALID", processed: false)
}

/// The response formats of a callable.
enum FirebaseAnswer {
  static func result(_ tree: JSONTree) -> DialectAnswer { DialectAnswer(200, .object(["result": tree])) }

  /// Returns the response for an error. The details of unexpected errors are hidden.
  static func failure(_ error: RPCError) -> DialectAnswer {
    let isFault = error.code == .internalError || error.code == .unknown || error.code == .dataLoss
    let status = error.reason == "METHOD_NOT_ALLOWED" ? 405 : HTTPStatusCode.of(error.code)
    var members: [String: JSONTree] = [
      "status": .string(isFault ? "INTERNAL" : error.code.name),
      "message": .string(isFault ? "INTERNAL" : error.message),
    ]
    if !isFault { members["details"] = .object(["reason": .string(error.reason)]) }
    return DialectAnswer(isFault ? 500 : status, .object(["error": .object(members)]))
  }

  /// Returns the response as the only event of a stream, whose status is always 200.
  static func event(_ answer: DialectAnswer) -> DialectAnswer {
    var answer = answer
    answer.status = 200
    answer.headers = answer.headers.filter { $0.name != "Content-Type" }
    answer.headers.append(.init(name: "Content-Type", value: FirebaseDialect.eventsType))
    answer.body = Array("data: ".utf8) + answer.body + Array("\n\n".utf8)
    return answer
  }
}

/// Integers too large for JavaScript, which a callable's data carries as typed objects.
enum FirebaseNumbers {
  static let depthMax = 16
  private static let prefix = "type.googleapis.com/google.protobuf."

  /// Returns the value with plain numbers instead of typed objects. Throws INVALID_ARGUMENT for other types or invalid
  /// numbers.
  static func plain(_ json: [UInt8], depth: Int = 0) throws(RPCError) -> [UInt8] {
    guard json.contains(UInt8(ascii: "@")) else { return json }
    guard depth < depthMax else { throw FirebaseDialect.badRequest }
    switch json.first {
    case UInt8(ascii: "{"):
      let fields = try JSONFields(json)
      if let type = try fields.string("@type") { return try number(type, fields) }
      var writer = JSONWriter()
      let object = writer.beginObject()
      for name in fields.names.sorted() {
        writer.key(name)
        writer.append(
          raw: String(decoding: try plain(fields.raw(name) ?? Array("null".utf8), depth: depth + 1), as: UTF8.self))
      }
      writer.endObject(object)
      return writer.withUnsafeBytes { Array($0) }
    case UInt8(ascii: "["):
      let ranges = json.withUnsafeBytes { RawJSON.elements($0, 0..<$0.count) } ?? []
      var elements: [String] = []
      for range in ranges {
        elements.append(String(decoding: try plain(Array(json[range]), depth: depth + 1), as: UTF8.self))
      }
      return Array("[\(elements.joined(separator: ","))]".utf8)
    default: return json
    }
  }

  private static func number(_ type: String, _ fields: JSONFields) throws(RPCError) -> [UInt8] {
    let text = try fields.string("value") ?? ""
    switch type {
    case prefix + "Int64Value": if let value = Int64(text) { return Array(String(value).utf8) }
    case prefix + "UInt64Value": if let value = UInt64(text) { return Array(String(value).utf8) }
    default: break
    }
    throw FirebaseDialect.badRequest
  }
}
