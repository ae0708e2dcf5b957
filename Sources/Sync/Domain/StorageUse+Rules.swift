import CampanileAPI
import CampanileRPC
import CampanileService

extension StorageUse {
  init(usedBytes: Int64, limitBytes: Int64, limits: SyncLimits) {
    self.init()
    self.usedBytes = usedBytes
    self.limitBytes = limitBytes
    // Divided first: a limit may be as large as the type.
    warning = usedBytes >= limitBytes / 100 * limits.quotaWarningPercent
  }
}

extension RPCError {
  /// RESOURCE_EXHAUSTED: `what` is the zone or the user.
  static func quotaExceeded(_ what: String, used: Int64, wanted: Int64, limit: Int64) -> RPCError {
    RPCError(
      .resourceExhausted, "\(wanted) bytes more do not fit: the \(what) has \(used) of \(limit) bytes",
      reason: Reason.quotaExceeded.rawValue,
      errorMetadata: ["limit": String(limit), "used": String(used), "of": what])
  }
}
