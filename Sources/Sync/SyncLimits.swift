public import CampanileService

/// What one user may keep and one call may ask for. Each limit has a documented error; the configuration sets them.
public struct SyncLimits: ServiceLimits, Hashable {
  /// Zones of one user. One more: RESOURCE_EXHAUSTED, reason `ZONES_EXHAUSTED`.
  public var zonesPerUserMax = 100
  /// Assets of one zone. One more: RESOURCE_EXHAUSTED, reason `ASSETS_EXHAUSTED`.
  public var assetsPerZoneMax = 1_000
  /// Devices of one user. One more: RESOURCE_EXHAUSTED, reason `DEVICES_EXHAUSTED`.
  public var devicesPerUserMax = 100
  /// Changes of a commit. More: INVALID_ARGUMENT, reason `TOO_MANY`.
  public var batchEntriesMax = 100
  /// Objects on one page. A larger `page_size`: INVALID_ARGUMENT, reason `OUT_OF_RANGE`.
  public var pageSizeMax = 1_000
  /// The size of a page when the request says none.
  public var pageSizeDefault = 50
  /// Open watches of one user. One more: RESOURCE_EXHAUSTED, reason `WATCHES_EXHAUSTED`.
  public var watchesPerUserMax = 100
  /// Open watches of the whole service. One more: RESOURCE_EXHAUSTED, reason `WATCHES_EXHAUSTED`.
  public var watchesMax = 10_000
  /// Bytes of one content. More: INVALID_ARGUMENT, reason `CONTENT_TOO_LARGE`.
  public var contentBytesMax: Int64 = 250_000_000
  /// Bytes of a content that is carried inside of a request or answer.
  public var inlineBytesMax = 1 << 20
  /// Bytes of a content that is patched, merged or compared. More: FAILED_PRECONDITION, reason `CONTENT_TOO_LARGE`.
  public var documentBytesMax: Int64 = 16 << 20
  /// Bytes of one user's versions. More: RESOURCE_EXHAUSTED, reason `QUOTA_EXCEEDED`.
  public var userBytesMax: Int64 = 10_000_000_000
  /// Bytes of one zone's versions. More: RESOURCE_EXHAUSTED, reason `QUOTA_EXCEEDED`.
  public var zoneBytesMax: Int64 = 5_000_000_000
  /// Percent of a quota from which on it is warned of.
  public var quotaWarningPercent: Int64 = 80
  /// Revisions of a zone, and versions of an asset, that are kept.
  public var revisionsMax: Int64 = 100
  /// How long what was replaced is kept.
  public var historyAgeMaxMs: Int64 = 30 * 24 * 3_600_000
  /// Unresolved conflicts of one asset. With one more the oldest is like any other version.
  public var conflictsPerAssetMax: Int64 = 20
  /// Open uploads of one user. One more: RESOURCE_EXHAUSTED, reason `UPLOADS_EXHAUSTED`.
  public var uploadsPerUserMax = 16
  /// Open uploads of the whole service. One more: RESOURCE_EXHAUSTED, reason `UPLOADS_EXHAUSTED`.
  public var uploadsMax = 256
  /// How long an upload is kept after its last chunk.
  public var uploadIdleMaxMs: Int64 = 3_600_000
  /// Messages of one user that are kept; a device that lacks an older one is told `fullSync`.
  public var messagesPerUserMax: Int64 = 1_000
  /// How long a message waits for a device.
  public var messageAgeMaxMs: Int64 = 7 * 24 * 3_600_000
  /// How long a content that nothing names stays on disk.
  public var contentGraceMs: Int64 = 3_600_000
  /// Documents that are patched, merged or compared at the same time, each in up to six times its memory. More wait.
  public var documentsAtOnceMax = 2

  public init() {}
}
