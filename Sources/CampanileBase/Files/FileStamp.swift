#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The identity, size and modification time of a file. A change of the file changes its stamp.
public struct FileStamp: Sendable, Hashable {
  private var inode: UInt64
  private var sizeBytes: Int64
  private var modifiedSeconds: Int
  private var modifiedNanoseconds: Int

  /// Reads the stamp of the file at `path`, following symbolic links; nil if there is no file.
  public init?(path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    inode = UInt64(status.st_ino)
    sizeBytes = Int64(status.st_size)
    #if canImport(Darwin)
      let modified = status.st_mtimespec
    #else
      let modified = status.st_mtim
    #endif
    (modifiedSeconds, modifiedNanoseconds) = (Int(modified.tv_sec), Int(modified.tv_nsec))
  }
}
