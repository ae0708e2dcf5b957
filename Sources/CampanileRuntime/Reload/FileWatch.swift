import SystemPackage

/// What tells that a file has changed.
struct FileStamp: Sendable, Hashable {
  private var inode: UInt64
  private var sizeBytes: Int64
  /// The time of its last change as the system keeps it. Its members are other modules' in other builds, so it is taken as bytes.
  private var modified: [UInt8]

  /// Of the file that a path leads to; nil where there is none.
  init?(path: String) {
    guard let status = try? Stat(FilePath(path)) else { return nil }
    inode = UInt64(status.inode.rawValue)
    sizeBytes = status.size
    modified = withUnsafeBytes(of: status.st_mtim) { Array($0) }
  }

  static func stamps(_ paths: [String]) -> [String: FileStamp] {
    Dictionary(paths.compactMap { path in FileStamp(path: path).map { (path, $0) } }) { $1 }
  }
}

/// Tells when files have changed and rest: a certificate and its key are two files, which nobody replaces at once.
struct FileWatch: Sendable, Hashable {
  private var known: [String: FileStamp]
  private var changing: [String: FileStamp]?

  init(_ stamps: [String: FileStamp]) { known = stamps }

  /// Whether the files differ from those that were known, and are as they were at the look before. They are known then.
  mutating func look(_ stamps: [String: FileStamp]) -> Bool {
    guard stamps != known else {
      changing = nil
      return false
    }
    guard stamps == changing else {
      changing = stamps
      return false
    }
    accept(stamps)
    return true
  }

  /// These were read.
  mutating func accept(_ stamps: [String: FileStamp]) {
    known = stamps
    changing = nil
  }
}
