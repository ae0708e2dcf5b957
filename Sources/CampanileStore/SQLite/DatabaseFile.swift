#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// File system operations for a database: private modes, sizes and syncing.
enum DatabaseFile {
  /// Creates the directory (0700) and an empty file (0600) if missing, and removes other users' permissions from an old
  /// file.
  static func prepare(_ path: String) throws(StoreError) {
    try createDirectory(directory(of: path))
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw failure("open", path) }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw failure("stat", path) }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw StoreError(.unavailable, "not a regular file", path: path)
    }
    if status.st_mode & 0o077 != 0 {
      guard fchmod(descriptor, 0o600) == 0 else { throw failure("set the mode of", path) }
    }
  }

  static func directory(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

  /// Returns the size in bytes; 0 for a missing file.
  static func sizeBytes(_ path: String) -> Int64 {
    var status = stat()
    return stat(path, &status) == 0 ? Int64(status.st_size) : 0
  }

  /// Syncs a file's contents, or a directory's entries, so that they survive a power loss.
  static func sync(_ path: String) throws(StoreError) {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure("open", path) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw failure("sync", path) }
  }

  static func failure(_ action: String, _ path: String, _ number: Int32 = errno) -> StoreError {
    let reason = strerror(number).map { String(cString: $0) } ?? "error \(number)"
    return StoreError(
      number == ENOSPC || number == EDQUOT ? .diskFull : .unavailable, "cannot \(action): \(reason)", path: path)
  }

  private static func createDirectory(_ path: String) throws(StoreError) {
    guard !exists(path) else { return }
    let parent = directory(of: path)
    if parent != path { try createDirectory(parent) }
    guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw failure("create directory", path) }
  }
}
