import CampanileBase
import CampanileCodec
import CampanileRPC
import GatewayHTTP

/// The content-state of the Growth app's timer, in the app's format and in that of its widget.
///
/// Older widgets decode the method's name as `methodName`, newer ones as `protocolName`. Both are written.
struct GrowthState: Sendable, Hashable {
  static let foundationEpochMs: Int64 = 978_307_200_000
  static let sessionTypes: Set<String> = [
    "single", "multi", "quick", "freestyle", "rest", "countdown", "countup", "interval", "completed",
  ]
  static let spanSecondsMax = 86_400.0
  /// The session type of a timer that has ended.
  static let completedType = "completed"
  /// The relevance scores of the app's own updates.
  static let (runningScore, pausedScore) = (100.0, 50.0)

  var startedAtMs: Int64
  var pausedAtMs: Int64?
  var duration: Double
  var methodName: String
  var sessionType: String
  /// Total length of all finished pauses, in seconds.
  var totalPausedDuration: Double = 0

  /// Creates a placeholder state for an activity of which only the token is known. It is never pushed, because the app
  /// shows its own state.
  init(startedAtMs: Int64) {
    self.startedAtMs = startedAtMs
    duration = 0
    methodName = ""
    sessionType = "freestyle"
  }

  /// Reads a content-state of the app, whose dates are ISO 8601, or a stored one, whose dates may be seconds since
  /// 2001.
  ///
  /// - Throws: INVALID_ARGUMENT `FIELD_REQUIRED` or `FIELD_INVALID`.
  init(_ fields: JSONFields) throws(RPCError) {
    startedAtMs = try fields.required("startedAt", try Self.date(fields, "startedAt"))
    pausedAtMs = try Self.date(fields, "pausedAt")
    duration = try fields.required("duration", try Self.span(fields, "duration"))
    let olderName = try fields.string("methodName")
    let newerName = try fields.string("protocolName")
    methodName = try fields.required("methodName", olderName ?? newerName)
    sessionType = try fields.required("sessionType", try fields.string("sessionType"))
    totalPausedDuration = try Self.span(fields, "totalPausedDuration") ?? 0
    guard Self.sessionTypes.contains(sessionType) else {
      throw fields.wrong("sessionType", "one of \(Self.sessionTypes.sorted().joined(separator: ", "))")
    }
    guard methodName.unicodeScalars.count <= 256 else { throw fields.wrong("methodName", "at most 256 characters") }
  }

  private static func span(_ fields: JSONFields, _ name: String) throws(RPCError) -> Double? {
    guard let seconds = try fields.number(name) else { return nil }
    guard (0...spanSecondsMax).contains(seconds) else {
      throw fields.wrong(name, "0 to \(Int(spanSecondsMax)) seconds")
    }
    return seconds
  }

  private static func date(_ fields: JSONFields, _ name: String) throws(RPCError) -> Int64? {
    guard let raw = fields.raw(name) else { return nil }
    guard raw.first != UInt8(ascii: "\"") else {
      guard let time = DialectTimes.time(try fields.string(name) ?? "") else {
        throw fields.wrong(name, "an ISO 8601 instant")
      }
      return time.millisecondsSince1970
    }
    guard let seconds = try fields.number(name), abs(seconds) < 10_000_000_000 else {
      throw fields.wrong(name, "an instant")
    }
    return foundationEpochMs + Int64((seconds * 1000).rounded())
  }

  var isCompleted: Bool { sessionType == Self.completedType }
  var relevanceScore: Double { pausedAtMs == nil ? Self.runningScore : Self.pausedScore }

  /// The time at which a running countdown is over; nil for a timer without an end, and while it is paused.
  var countdownEndMs: Int64? {
    guard sessionType == "countdown", duration > 0, pausedAtMs == nil else { return nil }
    return startedAtMs + Int64(((duration + totalPausedDuration) * 1000).rounded())
  }

  // MARK: changes

  /// Ends a pause and marks the timer as completed.
  mutating func complete(atMs nowMs: Int64) {
    resume(atMs: nowMs)
    sessionType = Self.completedType
  }

  /// Pauses at an instant. An existing pause continues.
  mutating func pause(atMs nowMs: Int64) { pausedAtMs = pausedAtMs ?? nowMs }

  /// Ends a pause and adds it to the total.
  mutating func resume(atMs nowMs: Int64) {
    guard let pausedAtMs else { return }
    totalPausedDuration += Double(max(0, nowMs - pausedAtMs)) / 1000
    self.pausedAtMs = nil
  }

  // MARK: forms

  /// Returns the state as JSON.
  ///
  /// - Parameter isFoundation: Whether dates are seconds since 2001 instead of ISO 8601.
  func tree(isFoundation: Bool) -> JSONTree {
    func date(_ ms: Int64) -> JSONTree {
      isFoundation
        ? .double(Double(ms - Self.foundationEpochMs) / 1000)
        : .string(DialectTimes.text(ProtoTimestamp(millisecondsSince1970: ms)))
    }
    var members: [String: JSONTree] = [
      "startedAt": date(startedAtMs), "duration": .double(duration), "methodName": .string(methodName),
      "protocolName": .string(methodName), "isPaused": .bool(pausedAtMs != nil),
      "sessionType": .string(sessionType), "totalPausedDuration": .double(totalPausedDuration),
    ]
    if let pausedAtMs { members["pausedAt"] = date(pausedAtMs) }
    return .object(members)
  }

  /// Returns the state as the text of a JSON object.
  func content(isFoundation: Bool) -> String {
    var writer = JSONWriter()
    tree(isFoundation: isFoundation).write(to: &writer)
    return writer.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
  }
}
