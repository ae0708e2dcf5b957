import CampanileAPI
import CampanileBase
import CampanileRPC
import CampanileService

extension StorageUse {
  init(usedBytes: Int64, limitBytes: Int64, limits: SyncLimits) {
    self.init()
    self.usedBytes = usedBytes
    self.limitBytes = limitBytes
    // Divide first: the limit may be close to the maximum of the type.
    warning = usedBytes >= limitBytes / 100 * limits.quotaWarningPercent
  }
}

extension RPCError {
  /// Returns RESOURCE_EXHAUSTED; `what` is the zone or the user.
  static func quotaExceeded(_ what: String, used: Int64, wanted: Int64, limit: Int64) -> RPCError {
    RPCError(
      .resourceExhausted, "\(wanted) more bytes exceed the quota: the \(what) uses \(used) of \(limit) bytes",
      .quotaExceeded,
      errorMetadata: ["limit": String(limit), "used": String(used), "of": what])
  }
}
