import CampanileAPI
import CampanileCrypto
import CampanileRPC
import CampanileService

/// Stores zones, assets with their versions, uploads, devices and messages. A `ContentStore` has the contents.
///
/// Every function acts for one user: another user's object throws NOT_FOUND, like a missing one. Callers check
/// arguments first (see Domain/). A change, its log entry and its counters are one transaction, durable when the
/// function returns. Errors are `RPCError`s. Lists return at most one row more than the page size, so that the caller
/// knows whether there is another page.
protocol SyncRepository: ZonesRepository, AssetsRepository, UploadsRepository, DevicesRepository, Sendable {
  /// The wall clock in milliseconds since 1970.
  var clockMs: @Sendable () -> Int64 { get }
  var limits: SyncLimits { get }
}

protocol ZonesRepository {
  func createZone(_ name: String, user: String, idempotency: IdempotentRequest?) async throws -> Zone
  /// Returns a zone. `ZentikSyncZone` exists for every user and is empty before its first commit.
  func zone(_ name: String, user: String) async throws -> StoredZone
  /// Whether there is a notifications service to export from.
  var isExporting: Bool { get }
  func zones(_ query: PositionQuery) async throws -> [Zone]
  func storage(user: String) async throws -> StorageUse
  /// Returns users by id, for operators. The position of `query` is the id of a user.
  func users(_ query: PositionQuery, prefix: String) async throws -> [SyncUser]
  /// Starts or ends the export. UpdateZone documents the errors.
  func updateZone(_ change: ZoneChangeDraft, user: String) async throws -> Zone
  /// Deletes a zone. An etag that is not empty must be the zone's.
  func deleteZone(_ name: String, isForced: Bool, etag: String, user: String) async throws
  /// Returns the position from which a list or watch of changes starts.
  ///
  /// - Throws: OUT_OF_RANGE, reason `TOKEN_TOO_OLD`; INVALID_ARGUMENT if the token is not one of this user.
  func position(_ start: ChangesStart, zone: String, user: String) async throws -> ZonePosition
  /// Returns the next changes: at most `countMax`, fewer if they have many assets. Throws OUT_OF_RANGE, reason
  /// `TOKEN_TOO_OLD`.
  func changes(
    after position: ZonePosition, zone: String, user: String, countMax: Int, filter: ChangeFilter
  ) async throws -> ChangePage
}

/// The changes of a zone by UpdateZone.
struct ZoneChangeDraft: Sendable, Hashable {
  var zone: String
  /// Nil keeps the value.
  var exportsNotifications: Bool?
  var etag: String
}

struct ChangePage: Sendable, Hashable {
  /// The maximum number of assets on a page, so that it fits into a frame. A commit has at most 100.
  static let assetsMax = 2_000

  var changes: [ZoneChange] = []
  /// The last revision that was read, which may be that of a change the filter leaves out.
  var revision: Int64
  /// Whether there are further changes.
  var hasMore = false
}

protocol AssetsRepository {
  /// Commits changes. AssetsService documents the errors.
  func commit(
    _ draft: CommitDraft, user: String, idempotency: IdempotentRequest?
  ) async throws -> CommitAssetsResponse
  /// Returns the stored response to the same request; nil if there is none.
  func storedCommit(_ idempotency: IdempotentRequest?) async throws -> CommitAssetsResponse?
  /// Returns a version; 0 means the current one.
  func version(_ version: Int64, of name: String, zone: String, user: String) async throws -> StoredVersion
  /// Returns assets that all belong to one revision.
  func assets(_ query: PositionQuery, zone: String, user: String) async throws -> AssetPage
  func versions(_ query: PositionQuery, of name: String, zone: String, conflictsOnly: Bool) async throws
    -> [StoredVersion]
  func resolveConflict(
    _ version: Int64, of name: String, zone: String, device: String, user: String
  ) async throws
  /// Throws unless the device may change assets.
  func requireWriter(_ device: String, user: String) async throws
}

/// A page of assets at one revision of their zone.
struct AssetPage: Sendable {
  var assets: [Asset]
  var revision: Int64
  var position: ZonePosition
}

protocol UploadsRepository {
  /// Returns the upload, or that of the first request with the same id.
  func createUpload(
    _ upload: StoredUpload, device: String, user: String, idempotency: IdempotentRequest?
  ) async throws -> Upload
  func upload(_ id: String, user: String) async throws -> StoredUpload
  /// Waits on the caller's thread, which must be one for files.
  func uploadBlocking(_ id: String, user: String) throws -> StoredUpload
  /// Takes an upload, so that no other process can write it from now on. Returns it with its new epoch. Blocks.
  func takeUploadBlocking(_ id: String, user: String) throws -> StoredUpload
  /// Completes an upload whose content is stored, except for its pending file. Throws ABORTED, reason `UPLOAD_BUSY`, if
  /// another process has taken it since `epoch`.
  func completeUpload(_ id: String, _ summary: ContentSummary, epoch: Int64, user: String) async throws -> StoredUpload
  /// Extends the upload's retention.
  func touchUpload(_ id: String, user: String) async throws
  /// Deletes an upload. Returns false if it does not exist.
  func deleteUpload(_ id: String, user: String) async throws -> Bool
}

protocol DevicesRepository {
  func registerDevice(_ device: SyncDevice, user: String) async throws -> SyncDevice
  func devices(_ query: PositionQuery) async throws -> [SyncDevice]
  /// Deletes a device.
  ///
  /// - Parameter keepsReaders: Throws PERMISSION_DENIED, reason `DEVICE_READ_ONLY`, for a reader.
  func unregisterDevice(_ id: String, keepsReaders: Bool, user: String) async throws
  /// Sets a device's subscriptions.
  func setSubscriptions(_ draft: SubscriptionsDraft, user: String) async throws -> SyncDevice
  /// Returns the sequence of a message, or of the one that the device published before with the same id.
  func publish(
    _ message: SyncUpdateMessage, device: String, requestID: String, user: String, idempotency: IdempotentRequest?
  ) async throws -> Int64
  /// Returns at most `countMax` updates for a device, after a sequence or its acknowledged one, whichever is later.
  func updates(for device: String, after sequence: Int64, user: String, countMax: Int) async throws -> UpdatePage
  func acknowledge(_ device: String, through sequence: Int64, user: String) async throws
}

struct UpdatePage: Sendable, Hashable {
  /// The position before the updates.
  var start: Int64
  var updates: [SyncUpdate] = []
  /// The position after the updates.
  var sequence: Int64
  var hasMore = false
}
