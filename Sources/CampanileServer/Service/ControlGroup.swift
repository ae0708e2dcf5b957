#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The control group of this process (cgroups(7)), through which containers and systemd units limit its resources.
struct ControlGroup {
  /// A version 1 limit of at least this value means that there is no limit.
  private static let bytesMax = 1 << 46

  /// Returns the contents of a file, or nil if it cannot be read.
  var readFile: (_ path: String) -> String? = { path in
    FileManager.default.contents(atPath: path).map { String(decoding: $0.prefix(65_536), as: UTF8.self) }
  }

  /// The lowest memory limit of the process's group and its ancestors, in bytes; nil if there is none.
  var memoryBytesMax: Int? {
    guard let text = readFile("/proc/self/cgroup") else { return nil }
    var limits: [Int] = []
    for line in text.split(separator: "\n") {
      let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
      guard fields.count == 3 else { continue }
      if fields[1].isEmpty {
        limits += self.limits(below: "/sys/fs/cgroup", group: fields[2], file: "memory.max")
      } else if fields[1].split(separator: ",").contains("memory") {
        limits += self.limits(below: "/sys/fs/cgroup/memory", group: fields[2], file: "memory.limit_in_bytes")
      }
    }
    return limits.filter { $0 > 0 && $0 < Self.bytesMax }.min()
  }

  /// Reads the limits of a group and its ancestors.
  ///
  /// In a container, the path may be the host's. Then only the root exists.
  private func limits(below root: String, group: Substring, file: String) -> [Int] {
    var parts = group.split(separator: "/").filter { $0 != ".." }
    var found: [Int] = []
    while true {
      let folder = ([root] + parts.map(String.init)).joined(separator: "/")
      // "max", for no limit, is not a number.
      if let limit = readFile("\(folder)/\(file)").flatMap({ Int($0.filter { !$0.isWhitespace }) }) {
        found.append(limit)
      }
      guard parts.popLast() != nil else { return found }
    }
  }
}
