import CampanileBase
import CampanileCodec
import CampanileService

extension RPCError {
  static func zoneNotFound(_ id: String) -> RPCError { missing("zone", id, field: "zoneId", .zoneNotFound) }

  static func assetNotFound(_ name: String, field: String = "name") -> RPCError {
    missing("asset", name, field: field, .assetNotFound)
  }

  static func versionNotFound(_ version: Int64, field: String = "version") -> RPCError {
    missing("version", String(version), field: field, .versionNotFound)
  }

  static func uploadNotFound(_ id: String, field: String = "uploadId") -> RPCError {
    missing("upload", id, field: field, .uploadNotFound)
  }

  /// The failure of a stream whose upload another stream continues, possibly at another process.
  static var uploadTaken: RPCError {
    RPCError(.aborted, "another stream is writing this upload", .uploadBusy, retryAfterMs: 500)
  }

  static func deviceNotFound(_ id: String) -> RPCError { missing("device", id, field: "deviceId", .deviceNotFound) }

  static var deviceReadOnly: RPCError {
    RPCError(
      .permissionDenied,
      "readers cannot change assets; publish a SyncUpdateMessage, which a writer or the service applies",
      .deviceReadOnly,
      fieldViolations: [
        .init(field: "deviceId", description: "is a reader", reason: Reason.deviceReadOnly.rawValue)
      ])
  }

  static func tokenTooOld(zone: String) -> RPCError {
    RPCError(
      .outOfRange, "the changes after this token are no longer stored; list the assets and continue from there",
      .tokenTooOld, errorMetadata: ["zoneId": zone],
      fieldViolations: [
        .init(field: "resumeToken", description: "is too old", reason: Reason.tokenTooOld.rawValue)
      ])
  }
}
