#if canImport(Glibc)
  import CCampanile
#endif

/// The memory of this process.
public enum ProcessMemory {
  /// Returns the size of the resident set in bytes; nil if it is unknown.
  public static func residentBytes() -> Int? { ProcessMetrics.residentBytes() }

  /// Returns the allocator's free memory to the system.
  public static func release() {
    #if canImport(Glibc)
      malloc_trim(0)
    #endif
  }
}
