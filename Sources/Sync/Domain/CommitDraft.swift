import CampanileAPI
import CampanileCrypto

/// A commit whose fields are checked and whose contents are on the disk.
struct CommitDraft: Sendable, Hashable {
  var zone: String
  /// Empty for what the service itself exports, which needs no device.
  var device: String
  var changes: [ChangeDraft]
}

/// What a commit does to one asset.
struct ChangeDraft: Sendable, Hashable {
  enum Kind: Sendable, Hashable {
    case put(PutDraft)
    case delete
  }

  var name: String
  /// The etag that the current version must have; empty for any.
  var ifMatch: String
  var kind: Kind
  /// Where the change stands in the request, for errors: `changes[2].put.`, or empty.
  var path: String
}

/// A new version of an asset.
struct PutDraft: Sendable, Hashable {
  var recordType: String
  var syncTimestampMs: Int64?
  /// 0 for a known container, which says it by itself.
  var recordCount: Int64
  var content: ContentSource
  /// The asset must not exist.
  var mustBeNew = false
  var baseEtag = ""
  var isMerged = false
  /// Its condition was already checked against a version that the content follows from: nothing is a conflict.
  var followsCurrent = false
}

/// Where the content of a new version comes from.
enum ContentSource: Sendable, Hashable {
  /// On the disk, pinned.
  case stored(ContentFacts)
  case upload(String)
  /// Of a version that the zone has.
  case known(SHA256Digest)
}
