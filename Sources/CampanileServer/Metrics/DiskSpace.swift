#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The size and free space of a folder's file system.
struct DiskSpace: Sendable {
  let folder: String

  /// Returns nil if the folder does not exist, as for an executable without data.
  init?(folder: String) {
    self.folder = folder
    if read() == nil { return nil }
  }

  /// Returns the space available to unprivileged processes and the total size, in bytes; nil if they are unknown.
  func read() -> (freeBytes: Int, sizeBytes: Int)? {
    var status = statvfs()
    guard statvfs(folder, &status) == 0 else { return nil }
    let unit = Int(clamping: status.f_frsize)
    return (
      Int(clamping: status.f_bavail).multipliedReportingOverflow(by: unit).partialValue,
      Int(clamping: status.f_blocks).multipliedReportingOverflow(by: unit).partialValue
    )
  }

  func tell(_ metrics: MetricsRegistry) {
    metrics.addGauge("campanile_data_free_bytes") { read()?.freeBytes ?? 0 }
    metrics.addGauge("campanile_data_size_bytes") { read()?.sizeBytes ?? 0 }
  }
}
