import CampanileBase

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The standard metrics of a process, read on demand.
package enum ProcessMetrics {
  /// The start time of the process in seconds since 1970; without `/proc`, the time of the first use.
  static let startSeconds: Double = {
    let nowSeconds = Double(WallClock.nowMs()) / 1000
    guard let uptime = try? PrivateFile.read("/proc/uptime", sizeBytesMax: 4096, isPrivate: false),
      let uptimeSeconds = String(decoding: uptime, as: UTF8.self).split(separator: " ").first.flatMap({ Double($0) }),
      let startTicks = statField(22)
    else { return nowSeconds }
    return nowSeconds - (uptimeSeconds - startTicks / ticksPerSecond)
  }()
  private static let ticksPerSecond = Double(max(1, sysconf(Int32(_SC_CLK_TCK))))

  static func write(to text: inout PrometheusText) {
    write("process_cpu_seconds_total", "counter", "User and system CPU time in seconds.", cpuSeconds(), to: &text)
    if let bytes = residentBytes() {
      write("process_resident_memory_bytes", "gauge", "Resident memory in bytes.", Double(bytes), to: &text)
    }
    if let count = openDescriptors() {
      write("process_open_fds", "gauge", "Open file descriptors.", Double(count), to: &text)
    }
    write("process_start_time_seconds", "gauge", "Start time in seconds since 1970.", startSeconds, to: &text)
    text.header("campanile_build_info", kind: "gauge", help: "The running version; always 1.")
    text.sample("campanile_build_info", Labels([("version", CampanileVersion.string)]), 1)
  }

  private static func write(
    _ name: String, _ kind: String, _ help: String, _ value: Double, to text: inout PrometheusText
  ) {
    text.header(name, kind: kind, help: help)
    text.sample(name, Labels([]), value)
  }

  /// Returns the user and system time of all threads in seconds; 0 without `/proc`.
  static func cpuSeconds() -> Double {
    guard let user = statField(14), let system = statField(15) else { return 0 }
    return (user + system) / ticksPerSecond
  }

  /// Returns a numeric field of `/proc/self/stat`, counted from 1 as in proc(5), above 2; nil without `/proc`.
  private static func statField(_ number: Int) -> Double? {
    guard let bytes = try? PrivateFile.read("/proc/self/stat", sizeBytesMax: 4096, isPrivate: false) else { return nil }
    // The second field is a name in parentheses and may contain spaces. The third follows the last parenthesis.
    let fields = String(decoding: bytes, as: UTF8.self).split(separator: ")").last?.split(separator: " ") ?? []
    return number - 3 < fields.count ? Double(fields[number - 3]) : nil
  }

  /// Returns the resident memory, from the second field of `/proc/self/statm`; nil without `/proc`.
  package static func residentBytes() -> Int? {
    guard
      let bytes = try? PrivateFile.read("/proc/self/statm", sizeBytesMax: 4096, isPrivate: false)
    else { return nil }
    let fields = String(decoding: bytes, as: UTF8.self).split(separator: " ")
    guard fields.count > 1, let pages = Int(fields[1]) else { return nil }
    return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
  }

  /// Returns the number of entries of `/proc/self/fd`, without the one for the listing itself; nil without `/proc`.
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
