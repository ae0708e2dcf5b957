import CampanileAPI
import CampanileCrypto
import CampanileRPC
import CampanileService

/// Stores zones, assets with their versions, uploads, devices and messages. The contents are files (see Contents/).
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
  func createZone(_ name: String, user: String) async throws -> Zone
  /// Returns a zone. `ZentikSyncZone` exists for every user and is empty before its first commit.
  func zone(_ name: String, user: String) throws -> StoredZone
  func zones(_ query: PositionQuery) throws -> [Zone]
  func storage(user: String) throws -> StorageUse
  func deleteZone(_ name: String, isForced: Bool, user: String) async throws
  /// Returns the start of a list or watch of changes. An empty token means the oldest revision, or the newest if
  /// `startsNow`.
  ///
  /// - Throws: OUT_OF_RANGE, reason `TOKEN_TOO_OLD`; INVALID_ARGUMENT if the token is not one of this user.
  func position(_ token: String, zone: String, user: String, startsNow: Bool) throws -> ZonePosition
  /// Returns the next complete revisions: at most `countMax`, fewer if they have many changes. Throws OUT_OF_RANGE,
  /// reason `TOKEN_TOO_OLD`.
  func revisions(after position: ZonePosition, zone: String, user: String, countMax: Int) throws -> RevisionPage
}

struct RevisionPage: Sendable, Hashable {
  /// The maximum number of changes on a page, so that it fits into a frame. A commit has at most 100.
  static let changesMax = 2_000

  var revisions: [ZoneRevision] = []
  /// Whether there are further revisions.
  var more = false
}

protocol AssetsRepository {
  /// Commits changes. AssetsService documents the errors.
  func commit(
    _ draft: CommitDraft, user: String, idempotency: IdempotentRequest?
  ) async throws -> CommitAssetsResponse
  /// Returns the stored response to the same request; nil if there is none.
  func storedCommit(_ idempotency: IdempotentRequest?) async throws -> CommitAssetsResponse?
  /// Returns a version; 0 means the current one.
  func version(_ version: Int64, of name: String, zone: String, user: String) throws -> StoredVersion
  /// Returns assets that all belong to one revision.
  func assets(_ query: PositionQuery, zone: String, user: String) throws -> AssetPage
  func versions(_ query: PositionQuery, of name: String, zone: String, conflictsOnly: Bool) throws -> [AssetVersion]
  func resolveConflict(
    _ version: Int64, of name: String, zone: String, device: String, user: String
  ) async throws
  func hasContent(_ digest: SHA256Digest) throws -> Bool
  /// Throws unless the device may change assets.
  func requireWriter(_ device: String, user: String) throws
}

/// A page of assets at one revision of their zone.
struct AssetPage: Sendable {
  var assets: [Asset]
  var revision: Int64
  var position: ZonePosition
}

protocol UploadsRepository {
  func createUpload(_ upload: StoredUpload, device: String, user: String) async throws
  func upload(_ id: String, user: String) throws -> StoredUpload
  /// Completes an upload whose content is on disk under its name, and pinned.
  func completeUpload(_ id: String, _ summary: ContentSummary, user: String) async throws -> StoredUpload
  /// Extends the upload's retention.
  func touchUpload(_ id: String, user: String) async throws
  /// Deletes an upload. Returns false if it does not exist.
  func deleteUpload(_ id: String, user: String) async throws -> Bool
}

protocol DevicesRepository {
  func registerDevice(_ device: SyncDevice, user: String) async throws -> SyncDevice
  func devices(user: String) throws -> [SyncDevice]
  func unregisterDevice(_ id: String, user: String) async throws
  func publish(
    _ message: SyncUpdateMessage, device: String, mutationID: String, user: String
  ) async throws -> (sequence: Int64, isRepeated: Bool)
  /// Returns at most `countMax` updates for a device, after a sequence or its acknowledged one, whichever is later.
  func updates(for device: String, after sequence: Int64, user: String, countMax: Int) throws -> [SyncUpdate]
  func acknowledge(_ device: String, through sequence: Int64, user: String) async throws
}
