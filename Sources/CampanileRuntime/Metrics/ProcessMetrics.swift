#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The standard metrics of a process, read when they are asked for.
enum ProcessMetrics {
  /// When this process began to serve, in seconds since 1970: read once, at bootstrap.
  static let startSeconds = Double(WallClock.nowMs()) / 1000

  static func write(to text: inout PrometheusText) {
    write("process_cpu_seconds_total", "counter", "User and system CPU time in seconds.", cpuSeconds(), to: &text)
    if let bytes = residentBytes() {
      write("process_resident_memory_bytes", "gauge", "Resident memory in bytes.", Double(bytes), to: &text)
    }
    if let count = openDescriptors() {
      write("process_open_fds", "gauge", "Open file descriptors.", Double(count), to: &text)
    }
    write("process_start_time_seconds", "gauge", "Start time in seconds since 1970.", startSeconds, to: &text)
    text.header("campanile_build_info", kind: "gauge", help: "The version that runs; always 1.")
    text.sample("campanile_build_info", Labels([("version", CampanileVersion.string)]), 1)
  }

  private static func write(
    _ name: String, _ kind: String, _ help: String, _ value: Double, to text: inout PrometheusText
  ) {
    text.header(name, kind: kind, help: help)
    text.sample(name, Labels([]), value)
  }

  /// User and system time of all threads, from `/proc/self/stat` (proc(5), fields 14 and 15); 0 where there is no such file.
  static func cpuSeconds() -> Double {
    guard
      let bytes = try? PrivateFile.read(path: "/proc/self/stat", key: "", maximumBytes: 4096, isPrivate: false)
    else { return 0 }
    // The second field is a name in parentheses that may hold spaces; the third follows the last parenthesis.
    let fields = String(decoding: bytes, as: UTF8.self).split(separator: ")").last?.split(separator: " ") ?? []
    guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else { return 0 }
    return (user + system) / Double(max(1, sysconf(Int32(_SC_CLK_TCK))))
  }

  /// The second field of `/proc/self/statm`, in pages; nil where there is no such file.
  static func residentBytes() -> Int? {
    guard
      let bytes = try? PrivateFile.read(path: "/proc/self/statm", key: "", maximumBytes: 4096, isPrivate: false)
    else { return nil }
    let fields = String(decoding: bytes, as: UTF8.self).split(separator: " ")
    guard fields.count > 1, let pages = Int(fields[1]) else { return nil }
    return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
  }

  /// The entries of `/proc/self/fd` without the one that the listing itself opens.
  static func openDescriptors() -> Int? {
    guard let folder = opendir("/proc/self/fd") else { return nil }
    defer { closedir(folder) }
    var count = -1
    while let entry = readdir(folder) {
      if entry.pointee.d_name.0 != CChar(bitPattern: UInt8(ascii: ".")) { count += 1 }
    }
    return count
  }
}
