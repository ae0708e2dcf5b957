#if canImport(Glibc)
  import CCampanile
#endif
import CampanileServer

/// The memory of this process.
enum ProcessMemory {
  /// Returns the size of the resident set in bytes; nil if it is unknown.
  static func residentBytes() -> Int? { ProcessMetrics.residentBytes() }

  /// Returns the allocator's free memory to the system.
  static func release() {
    #if canImport(Glibc)
      malloc_trim(0)
    #endif
  }
}
