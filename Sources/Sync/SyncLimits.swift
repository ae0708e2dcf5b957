public import CampanileService

/// Limits of a user's stored objects and of single calls. Each has a documented error; the configuration sets them.
public struct SyncLimits: ServiceLimits, Hashable {
  /// Zones of one user. One more: RESOURCE_EXHAUSTED, reason `ZONES_EXHAUSTED`.
  public var zonesPerUserMax = 100
  /// Assets of one zone. One more: RESOURCE_EXHAUSTED, reason `ASSETS_EXHAUSTED`.
  public var assetsPerZoneMax = 1_000
  /// Devices of one user. One more: RESOURCE_EXHAUSTED, reason `DEVICES_EXHAUSTED`.
  public var devicesPerUserMax = 100
  /// Changes of a commit. More: INVALID_ARGUMENT, reason `TOO_MANY`.
  public var batchEntriesMax = 100
  /// Objects on one page. A larger `page_size` is cut down to it.
  public var pageSizeMax = 1_000
  /// The page size if the request has none.
  public var pageSizeDefault = 50
  /// Open watches of one user. One more: RESOURCE_EXHAUSTED, reason `WATCHES_EXHAUSTED`.
  public var watchesPerUserMax = 100
  /// Open watches of the whole service; the last quarter is reserved for users without a watch (see `SharedLimit`). One
  /// more: RESOURCE_EXHAUSTED, reason `WATCHES_EXHAUSTED`.
  public var watchesMax = 10_000
  /// Bytes of one content. More: INVALID_ARGUMENT, reason `CONTENT_TOO_LARGE`.
  public var contentBytesMax: Int64 = 250_000_000
  /// Bytes of a content inside a request or response.
  public var inlineBytesMax = 1 << 20
  /// Bytes of a content that is patched, merged or compared. More: FAILED_PRECONDITION, reason `CONTENT_TOO_LARGE`.
  public var documentBytesMax: Int64 = 16 << 20
  /// Bytes of one user's versions. More: RESOURCE_EXHAUSTED, reason `QUOTA_EXCEEDED`.
  public var userBytesMax: Int64 = 10_000_000_000
  /// Bytes of one zone's versions. More: RESOURCE_EXHAUSTED, reason `QUOTA_EXCEEDED`.
  public var zoneBytesMax: Int64 = 5_000_000_000
  /// Percentage of a quota from which a warning is set.
  public var quotaWarningPercent: Int64 = 80
  /// Revisions of a zone, and versions of an asset, that are retained.
  public var revisionsMax: Int64 = 100
  /// The retention of replaced versions.
  public var historyAgeMaxMs: Int64 = 30 * 24 * 3_600_000
  /// Unresolved conflicts of one asset. One more: the oldest becomes an ordinary version.
  public var conflictsPerAssetMax: Int64 = 20
  /// Open uploads of one user. One more: RESOURCE_EXHAUSTED, reason `UPLOADS_EXHAUSTED`.
  public var uploadsPerUserMax = 16
  /// Open uploads of the whole service; the last quarter is reserved for users without an upload (see `SharedLimit`).
  /// One more: RESOURCE_EXHAUSTED, reason `UPLOADS_EXHAUSTED`.
  public var uploadsMax = 256
  /// The retention of an upload after its last chunk.
  public var uploadIdleMaxMs: Int64 = 3_600_000
  /// Messages of one user that are retained. A device that misses an older one receives `fullSync`.
  public var messagesPerUserMax: Int64 = 1_000
  /// The retention of a message for a device.
  public var messageAgeMaxMs: Int64 = 7 * 24 * 3_600_000
  /// The time for which an unreferenced content stays on disk.
  public var contentGraceMs: Int64 = 3_600_000
  /// Documents that are patched, merged or compared concurrently, each using up to six times its size. Others wait.
  public var documentsAtOnceMax = 2

  public init() {}
}
