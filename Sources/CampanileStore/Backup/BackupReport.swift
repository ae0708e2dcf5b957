/// A finished backup.
public struct BackupReport: Sendable, Hashable {
  public var path: String
  public var sizeBytes: Int64
  /// The digest of the file on disk, in lower-case hexadecimal.
  public var sha256: String
}
