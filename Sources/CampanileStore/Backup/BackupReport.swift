/// A finished backup.
public struct BackupReport: Sendable, Hashable {
  public var path: String
  public var sizeBytes: Int64
  /// In lower-case hexadecimal, of the file as it is on disk.
  public var sha256: String
}
