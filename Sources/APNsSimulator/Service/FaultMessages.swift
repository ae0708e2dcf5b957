import APNs
import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC

extension FaultRule {
  /// Creates a rule from a valid message. Throws INVALID_ARGUMENT for values that do not fit together.
  init(_ fault: Fault, nowMs: Int64) throws(RPCError) {
    var violations = Violations()
    let effect = Self.action(fault.effect, &violations)
    if let end = fault.endTime, end.millisecondsSince1970 <= nowMs {
      violations.add("fault.endTime", "must be in the future", .timePast)
    }
    try violations.check()
    self.init(effect ?? .goAway)
    every = max(1, Int(fault.every))
    probability = fault.probability ?? 1
    remaining = fault.remainingCount.map { Int($0) }
    untilMs = fault.endTime?.millisecondsSince1970
    if let filter = fault.match {
      match = FaultMatch(
        pathPrefix: filter.pathPrefix.nonEmpty, topic: filter.topic.nonEmpty, pushType: filter.pushType.nonEmpty,
        keyID: filter.keyId.nonEmpty)
    }
  }

  private static func action(_ effect: Fault.Effect?, _ violations: inout Violations) -> FaultAction? {
    switch effect {
    case .answer(let answer):
      let known = APNsReason.known(answer.reason)
      guard let status = answer.httpStatus > 0 ? Int(answer.httpStatus) : known?.status else {
        violations.add("fault.answer.httpStatus", "is required for a reason that is not Apple's", .required)
        return nil
      }
      return .answer(
        Refusal(
          APNsReason(text: answer.reason, status: status), "scripted",
          timestampMs: answer.timestampTime?.millisecondsSince1970,
          retryAfterSeconds: answer.retryAfter.map { $0.milliseconds / 1_000 }))
    case .delay(let delay):
      let (minMs, maxMs) = (delay.minimum?.milliseconds ?? 0, delay.maximum?.milliseconds ?? 0)
      guard minMs <= maxMs else {
        violations.add("fault.delay.maximum", "must be at least the minimum", .outOfRange)
        return nil
      }
      return .delay(minMs: minMs, maxMs: maxMs)
    case .goAway: return .goAway
    case .reset(let end): return .reset(isProcessed: end.processed)
    case .close(let end): return .close(isProcessed: end.processed)
    case .stall(let end): return .stall(isProcessed: end.processed)
    // The contract requires one of them.
    case nil: return nil
    }
  }

  var message: Fault {
    Fault(
      id: String(id), effect: effect,
      match: match == FaultMatch()
        ? nil
        : FaultFilter(
          pathPrefix: match.pathPrefix ?? "", topic: match.topic ?? "", pushType: match.pushType ?? "",
          keyId: match.keyID ?? ""),
      every: Int32(clamping: every), probability: probability, remainingCount: remaining.map { Int32(clamping: $0) },
      endTime: untilMs.map { ProtoTimestamp(millisecondsSince1970: $0) }, matchedCount: Int64(matched),
      appliedCount: Int64(applied))
  }

  private var effect: Fault.Effect {
    switch action {
    case .answer(let refusal):
      .answer(
        FaultAnswer(
          reason: refusal.reason.text, httpStatus: Int32(clamping: refusal.reason.status),
          retryAfter: refusal.retryAfterSeconds.map { ProtoDuration(milliseconds: $0 * 1_000) },
          timestampTime: refusal.timestampMs.map { ProtoTimestamp(millisecondsSince1970: $0) }))
    case .delay(let minMs, let maxMs):
      .delay(FaultDelay(minimum: ProtoDuration(milliseconds: minMs), maximum: ProtoDuration(milliseconds: maxMs)))
    case .goAway: .goAway(FaultEnd(processed: true))
    case .reset(let isProcessed): .reset(FaultEnd(processed: isProcessed))
    case .close(let isProcessed): .close(FaultEnd(processed: isProcessed))
    case .stall(let isProcessed): .stall(FaultEnd(processed: isProcessed))
    }
  }
}

extension String {
  fileprivate var nonEmpty: String? { isEmpty ? nil : self }
}
