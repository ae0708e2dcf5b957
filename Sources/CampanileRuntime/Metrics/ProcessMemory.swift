#if canImport(Glibc)
  import CAllocator
#endif

/// The memory of this process.
public enum ProcessMemory {
  /// What it has in use, as the system counts it (the resident set); nil where the system does not tell.
  public static func residentBytes() -> Int? { ProcessMetrics.residentBytes() }

  /// Gives back what the allocator keeps of memory that is free.
  public static func release() {
    #if canImport(Glibc)
      malloc_trim(0)
    #endif
  }
}
