import CampanileBase

/// Detects changes of files once they are stable over two polls.
///
/// A certificate and its key, for example, are replaced one after the other.
struct FileWatch: Sendable, Hashable {
  private var known: [String: FileStamp]
  private var changing: [String: FileStamp]?

  init(_ stamps: [String: FileStamp]) { known = stamps }

  /// Returns whether the files have changed and are stable since the previous poll. If so, accepts the change.
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

  /// Accepts `stamps` as the current state.
  mutating func accept(_ stamps: [String: FileStamp]) {
    known = stamps
    changing = nil
  }
}

extension FileStamp {
  /// Returns the stamps of the files that exist, by path.
  static func stamps(_ paths: [String]) -> [String: FileStamp] {
    Dictionary(paths.compactMap { path in FileStamp(path: path).map { (path, $0) } }) { $1 }
  }
}
