#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The room of the file system that a folder is on.
struct DiskSpace: Sendable {
  let folder: String

  /// Nil where there is no such folder: an executable that keeps nothing has none.
  init?(folder: String) {
    self.folder = folder
    if read() == nil { return nil }
  }

  /// In bytes: what a process without privileges may still write, and all there is; nil where the system does not tell.
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
