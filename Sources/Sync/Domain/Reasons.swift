import CampanileAPI
import CampanileBase
import CampanileRPC
import CampanileService
import SyncContents

/// The error reasons of this service, in addition to the common ones.
extension Reason {
  // Fields
  static let nameInvalid = Reason(rawValue: "NAME_INVALID")
  static let nameRepeated = Reason(rawValue: "NAME_REPEATED")
  static let hashInvalid = Reason(rawValue: "HASH_INVALID")
  static let recordCountWrong = Reason(rawValue: "RECORD_COUNT_WRONG")
  static let patchInvalid = Reason(rawValue: "PATCH_INVALID")
  // Contents
  static let jsonInvalid = Reason(rawValue: "JSON_INVALID")
  static let jsonTooDeep = Reason(rawValue: "JSON_TOO_DEEP")
  static let containerInvalid = Reason(rawValue: "CONTAINER_INVALID")
  static let contentTooLarge = Reason(rawValue: "CONTENT_TOO_LARGE")
  static let contentChanged = Reason(rawValue: "CONTENT_CHANGED")
  static let contentDamaged = Reason(rawValue: ContentReason.contentDamaged)
  static let contentNotFound = Reason(rawValue: "CONTENT_NOT_FOUND")
  static let contentsUnavailable = Reason(rawValue: ContentReason.contentsUnavailable)
  static let diskFull = Reason(rawValue: ContentReason.diskFull)
  static let hashMismatch = Reason(rawValue: "HASH_MISMATCH")
  static let chunkInvalid = Reason(rawValue: "CHUNK_INVALID")
  static let patchRefused = Reason(rawValue: "PATCH_REFUSED")
  static let mergeRefused = Reason(rawValue: "MERGE_REFUSED")
  // Objects and state
  static let zoneNotFound = Reason(rawValue: "ZONE_NOT_FOUND")
  static let zoneExists = Reason(rawValue: "ZONE_EXISTS")
  static let zoneNotEmpty = Reason(rawValue: "ZONE_NOT_EMPTY")
  static let zoneChanged = Reason(rawValue: "ZONE_CHANGED")
  static let zonesExhausted = Reason(rawValue: "ZONES_EXHAUSTED")
  static let assetNotFound = Reason(rawValue: "ASSET_NOT_FOUND")
  static let assetsExhausted = Reason(rawValue: "ASSETS_EXHAUSTED")
  static let versionNotFound = Reason(rawValue: "VERSION_NOT_FOUND")
  static let versionDeleted = Reason(rawValue: "VERSION_DELETED")
  static let quotaExceeded = Reason(rawValue: "QUOTA_EXCEEDED")
  static let uploadNotFound = Reason(rawValue: "UPLOAD_NOT_FOUND")
  static let uploadBusy = Reason(rawValue: "UPLOAD_BUSY")
  static let uploadIncomplete = Reason(rawValue: "UPLOAD_INCOMPLETE")
  static let uploadMismatch = Reason(rawValue: "UPLOAD_MISMATCH")
  static let uploadsExhausted = Reason(rawValue: "UPLOADS_EXHAUSTED")
  static let offsetMismatch = Reason(rawValue: "OFFSET_MISMATCH")
  static let commitContended = Reason(rawValue: "COMMIT_CONTENDED")
  // Devices
  static let deviceNotFound = Reason(rawValue: "DEVICE_NOT_FOUND")
  static let deviceReadOnly = Reason(rawValue: "DEVICE_READ_ONLY")
  static let devicesExhausted = Reason(rawValue: "DEVICES_EXHAUSTED")
  static let roleFixed = Reason(rawValue: "ROLE_FIXED")
  static let mutationIDReused = Reason(rawValue: "MUTATION_ID_REUSED")
}

extension RPCError {
  /// Returns FAILED_PRECONDITION for one field.
  static func refused(_ field: String, _ description: String, _ reason: Reason) -> RPCError {
    RPCError(
      .failedPrecondition, "\(field): \(description)", reason: reason.rawValue,
      fieldViolations: [.init(field: field, description: description, reason: reason.rawValue)])
  }

  static func zoneNotFound(_ name: String) -> RPCError { missing("zone", name, field: "zone", .zoneNotFound) }

  static func assetNotFound(_ name: String, field: String = "name") -> RPCError {
    missing("asset", name, field: field, .assetNotFound)
  }

  static func versionNotFound(_ version: Int64, field: String = "version") -> RPCError {
    missing("version", String(version), field: field, .versionNotFound)
  }

  static func uploadNotFound(_ id: String, field: String = "uploadId") -> RPCError {
    missing("upload", id, field: field, .uploadNotFound)
  }

  static func deviceNotFound(_ id: String) -> RPCError { missing("device", id, field: "deviceId", .deviceNotFound) }

  static var deviceReadOnly: RPCError {
    RPCError(
      .permissionDenied,
      "readers cannot change assets; publish a SyncUpdateMessage, which a writer or the service applies",
      reason: Reason.deviceReadOnly.rawValue,
      fieldViolations: [
        .init(field: "deviceId", description: "is a reader", reason: Reason.deviceReadOnly.rawValue)
      ])
  }

  static func tokenTooOld(zone: String) -> RPCError {
    RPCError(
      .outOfRange, "the revisions after this token are no longer stored; list the assets and continue from there",
      reason: Reason.tokenTooOld.rawValue, errorMetadata: ["zone": zone],
      fieldViolations: [
        .init(field: "resumeToken", description: "is too old", reason: Reason.tokenTooOld.rawValue)
      ])
  }
}
