internal import Foundation
internal import SyncContents

/// Restores a verified backup into empty folders.
///
/// Files are copied under temporary names and renamed last. A failed copy leaves no file that a service would open.
struct Restoration {
  let manifest: BackupManifest
  let source: String
  let target: String

  private static let partial = ".restoring"

  /// Restores the backup.
  ///
  /// - Throws: `UsageError` if a target folder is not empty, or a copy does not match the manifest.
  func run() throws {
    try refuseWhatIsThere()
    var made: [String] = []
    do {
      for file in manifest.files {
        let path = "\(target)/\(file.target)\(Self.partial)"
        try makeFolder(above: path)
        made.append(path)
        try copy(file, to: path)
      }
      for contents in manifest.contents {
        let path = "\(target)/\(contents.target)"
        try makeFolder(above: path)
        made.append(path)
        let report = try ContentsBackup.run(
          database: "\(source)/\(contents.database)", from: "\(source)/\(contents.name)", to: path)
        guard report.damagedCount == 0, report.contentCount == contents.contents else {
          throw UsageError("\(contents.name): \(report.damagedCount) contents are missing or damaged")
        }
      }
    } catch {
      for path in made { try? FileManager.default.removeItem(atPath: path) }
      throw error
    }
    for file in manifest.files {
      let path = "\(target)/\(file.target)"
      guard rename(path + Self.partial, path) == 0 else {
        throw UsageError("cannot rename to \(path): \(String(cString: strerror(errno)))")
      }
    }
    for folder in Set(targets.map { folder(of: $0) }) { try sync(folder: folder) }
  }

  private var targets: [String] { manifest.files.map(\.target) + manifest.contents.map(\.target) }

  private func folder(of target: String) -> String {
    self.target + (target.contains("/") ? "/" + target.split(separator: "/").dropLast().joined(separator: "/") : "")
  }

  /// Throws `UsageError` unless every target folder is empty, so that existing data is never touched.
  func refuseWhatIsThere() throws(UsageError) {
    for folder in Set(targets.map { folder(of: $0) }).sorted() {
      let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
      // Ignore the folders of services, which are checked separately, and lost+found of a new file system.
      let parts = Set(targets.compactMap { $0.split(separator: "/").dropLast().first.map(String.init) })
      let others = names.filter { $0 != "lost+found" && !(folder == target && parts.contains($0)) }
      guard others.isEmpty else {
        throw UsageError(
          "\(folder) is not empty (\(others.sorted().prefix(3).joined(separator: ", "))): restore into new folders, "
            + "or move the existing files away")
      }
    }
  }

  private func makeFolder(above path: String) throws {
    try PrivateFolder.make(path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ".")
  }

  private func copy(_ file: BackupManifest.File, to path: String) throws {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw UsageError("cannot write \(path): \(String(cString: strerror(errno)))") }
    let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    let (sha256, sizeBytes) = try FileDigest.of("\(source)/\(file.name)", copyTo: handle)
    try handle.synchronize()
    try handle.close()
    guard sha256 == file.sha256, sizeBytes == file.sizeBytes else {
      throw UsageError("\(file.name) has changed since it was checked")
    }
  }

  private func sync(folder: String) throws(UsageError) {
    let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw UsageError("cannot open \(folder): \(String(cString: strerror(errno)))") }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw UsageError("cannot sync \(folder): \(String(cString: strerror(errno)))") }
  }
}
