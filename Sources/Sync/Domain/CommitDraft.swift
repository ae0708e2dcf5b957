import CampanileAPI
import CampanileCrypto

/// A validated commit whose contents are stored.
struct CommitDraft: Sendable, Hashable {
  var zone: String
  /// Empty for exports by the service, which need no device.
  var device: String
  var changes: [ChangeDraft]
}

/// The change of one asset in a commit.
struct ChangeDraft: Sendable, Hashable {
  enum Kind: Sendable, Hashable {
    case put(PutDraft)
    case delete
  }

  var name: String
  /// The etag that the current version must have; empty for any.
  var ifMatch: String
  var kind: Kind
  /// The path of the change in the request, for errors: `changes[2].put.`, or empty.
  var path: String
}

/// A new version of an asset.
struct PutDraft: Sendable, Hashable {
  var recordType: String
  var syncTimestampMs: Int64?
  /// 0 for a known container, which has its own count.
  var recordCount: Int64
  var content: ContentSource
  /// Whether the asset must not exist.
  var mustBeNew = false
  var baseEtag = ""
  var isMerged = false
  /// Whether the condition was already checked against the version that the content is based on. The put is then never
  /// a conflict.
  var followsCurrent = false
}

/// The source of a new version's content.
enum ContentSource: Sendable, Hashable {
  /// A stored and pinned content.
  case stored(ContentSummary)
  case upload(String)
  /// The content of a version in the zone.
  case known(SHA256Digest)
}
