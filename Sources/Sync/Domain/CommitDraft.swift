import CampanileAPI
import CampanileCrypto

/// A validated commit.
struct CommitDraft: Sendable, Hashable {
  var zone: String
  /// Empty for exports by the service, which need no device.
  var device: String
  var changes: [ChangeDraft]
  /// Set for exports by the service.
  var export: ExportDraft?
}

/// The messages that devices get about an export.
struct ExportDraft: Sendable, Hashable {
  var updates: [EntityUpdate]
  /// The time of the version that the updates are relative to. A change that a device has published since then is not
  /// repeated.
  var sinceMs: Int64 = 0
}

/// The zone has no export any more.
struct ExportEnded: Error {}

/// The change of one asset in a commit.
struct ChangeDraft: Sendable, Hashable {
  var name: String
  /// The etag that the current version must have; empty for any.
  var etag: String
  /// Nil for a deletion.
  var put: PutDraft?
  /// The path of the change in the request, for errors: `changes[2].put.`, or empty.
  var path: String
}

/// A new version of an asset.
struct PutDraft: Sendable, Hashable {
  var recordType: String
  var syncTimeMs: Int64?
  /// 0 for a known container, which has its own count.
  var recordCount: Int64
  var content: ContentSource
  /// Whether the asset must not exist.
  var mustNotExist = false
  var baseEtag = ""
  /// Whether the content is checked by the strict rules.
  var isStrict = false
  /// Whether the content is to be merged with the current version.
  var isMerge = false
  /// Whether the content is the result of a merge.
  var isMerged = false
  /// Whether the condition was already checked against the version that the content is based on. The put is then never
  /// a conflict.
  var followsCurrent = false

  /// Whether the current version or the upload is read before the commit.
  var readsStored: Bool { isMerge || recordType.isEmpty }
}

/// The source of a new version's content.
enum ContentSource: Sendable, Hashable {
  /// A content in memory, which is stored before the commit.
  case inline([UInt8])
  /// A stored and pinned content.
  case stored(ContentSummary)
  case upload(String)
  /// The content of a version in the zone.
  case known(SHA256Digest)
}
