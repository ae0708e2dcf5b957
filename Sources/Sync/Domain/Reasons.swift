import CampanileCodec
import CampanileService
import SyncContents

/// The error reasons of this service, in addition to the common ones.
extension Reason {
  // Fields
  static let nameInvalid = Reason(rawValue: "NAME_INVALID")
  static let nameRepeated = Reason(rawValue: "NAME_REPEATED")
  static let recordCountWrong = Reason(rawValue: "RECORD_COUNT_WRONG")
  static let patchInvalid = Reason(rawValue: "PATCH_INVALID")
  static let valueInvalid = Reason(rawValue: "VALUE_INVALID")
  static let timeInvalid = Reason(rawValue: "TIME_INVALID")
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
  static let exportUnavailable = Reason(rawValue: "EXPORT_UNAVAILABLE")
  // Devices
  static let deviceNotFound = Reason(rawValue: "DEVICE_NOT_FOUND")
  static let deviceReadOnly = Reason(rawValue: "DEVICE_READ_ONLY")
  static let deviceMismatch = Reason(rawValue: "DEVICE_MISMATCH")
  static let devicesExhausted = Reason(rawValue: "DEVICES_EXHAUSTED")
  static let roleFixed = Reason(rawValue: "ROLE_FIXED")
}
