import CampanileAPI
import CampanileCrypto
import CampanileRPC
import CampanileService

/// Keeps zones, assets with their versions, uploads, devices and messages; the contents themselves are files (see
/// Contents/).
///
/// Every function serves one user and sees nothing of the others: what belongs to another user throws NOT_FOUND, like what
/// does not exist. Arguments are checked before (see Domain/). A change, its log entry and its counters are one
/// transaction, durable when the function returns. Failures are `RPCError`s. Lists answer at most one more than the page's
/// size, so that the caller knows whether there is another page.
protocol SyncRepository: ZonesRepository, AssetsRepository, UploadsRepository, DevicesRepository, Sendable {
  /// The wall clock in milliseconds since 1970.
  var clockMs: @Sendable () -> Int64 { get }
  var limits: SyncLimits { get }
}

protocol ZonesRepository {
  func createZone(_ name: String, user: String) async throws -> Zone
  /// `ZentikSyncZone` is there for everybody, empty before its first commit.
  func zone(_ name: String, user: String) throws -> StoredZone
  func zones(_ query: PositionQuery) throws -> [Zone]
  func storage(user: String) throws -> StorageUse
  func deleteZone(_ name: String, isForced: Bool, user: String) async throws
  /// Where a list or watch of changes begins; nil for the oldest revision there was. Throws OUT_OF_RANGE, reason
  /// `TOKEN_TOO_OLD`, and INVALID_ARGUMENT for what is no token of this user.
  func position(_ token: String, zone: String, user: String, startsNow: Bool) throws -> ZonePosition
  /// The next whole revisions: at most `countMax`, and fewer when they have many changes. Throws OUT_OF_RANGE, reason
  /// `TOKEN_TOO_OLD`.
  func revisions(after position: ZonePosition, zone: String, user: String, countMax: Int) throws -> RevisionPage
}

struct RevisionPage: Sendable, Hashable {
  /// Changes of a page, so that it fits into a frame: a commit has at most 100.
  static let changesMax = 2_000

  var revisions: [ZoneRevision] = []
  /// Whether there are others behind them.
  var more = false
}

protocol AssetsRepository {
  /// Throws as AssetsService says of its changes.
  func commit(
    _ draft: CommitDraft, user: String, repeatable: RepeatableRequest?
  ) async throws -> CommitAssetsResponse
  /// The answer that a commit of this request was given; nil for a new one.
  func repeated(_ repeatable: RepeatableRequest?) async throws -> CommitAssetsResponse?
  /// Version 0 is the current one.
  func version(_ version: Int64, of name: String, zone: String, user: String) throws -> StoredVersion
  /// All of one revision.
  func assets(_ query: PositionQuery, zone: String, user: String) throws -> AssetPage
  func versions(_ query: PositionQuery, of name: String, zone: String, conflictsOnly: Bool) throws -> [AssetVersion]
  func resolveConflict(
    _ version: Int64, of name: String, zone: String, device: String, user: String
  ) async throws
  func hasContent(_ digest: SHA256Digest) throws -> Bool
  /// Throws unless the device may change assets.
  func requireWriter(_ device: String, user: String) throws
}

/// A page of assets as one revision of their zone has them.
struct AssetPage: Sendable {
  var assets: [Asset]
  var revision: Int64
  var position: ZonePosition
}

protocol UploadsRepository {
  func createUpload(_ upload: StoredUpload, device: String, user: String) async throws
  func upload(_ id: String, user: String) throws -> StoredUpload
  /// Its content is on the disk under its name, and pinned.
  func completeUpload(_ id: String, _ facts: ContentFacts, user: String) async throws -> StoredUpload
  /// Keeps it for another while.
  func touchUpload(_ id: String, user: String) async throws
  /// False when it is gone already.
  func deleteUpload(_ id: String, user: String) async throws -> Bool
}

protocol DevicesRepository {
  func registerDevice(_ device: SyncDevice, user: String) async throws -> SyncDevice
  func devices(user: String) throws -> [SyncDevice]
  func unregisterDevice(_ id: String, user: String) async throws
  func publish(
    _ message: SyncUpdateMessage, device: String, mutationID: String, user: String
  ) async throws -> (sequence: Int64, isRepeated: Bool)
  /// What waits for a device after a sequence, or after what it has acknowledged; at most `countMax`.
  func updates(for device: String, after sequence: Int64, user: String, countMax: Int) throws -> [SyncUpdate]
  func acknowledge(_ device: String, through sequence: Int64, user: String) async throws
}
