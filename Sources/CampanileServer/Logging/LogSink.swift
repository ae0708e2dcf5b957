#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A destination for log lines. `write` receives a complete line with its line feed.
protocol LogSink: Sendable {
  func write(_ line: [UInt8])
}

/// Standard error, with one `write(2)` per line, so that lines of several threads and processes do not interleave.
final class StandardErrorSink: LogSink {
  private let descriptor: Int32

  init(descriptor: Int32 = 2) {
    self.descriptor = descriptor
  }

  /// Writes a line. If a non-blocking descriptor is full, the line is dropped.
  ///
  /// A service must not block because its log is not read.
  func write(_ line: [UInt8]) {
    line.withUnsafeBytes { bytes in
      var offset = 0
      while offset < bytes.count {
        let count = systemWrite(descriptor, UnsafeRawBufferPointer(rebasing: bytes[offset...]))
        if count > 0 {
          offset += count
        } else if count < 0, errno == EINTR {
          continue
        } else {
          return
        }
      }
    }
  }
}

/// Calls `write(2)`. The name avoids a conflict with the methods named `write`.
func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
  write(descriptor, bytes.baseAddress, bytes.count)
}
