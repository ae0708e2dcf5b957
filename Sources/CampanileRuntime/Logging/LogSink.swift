import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Where log lines go. `write` is given one whole line with its line feed.
public protocol LogSink: Sendable {
  func write(_ line: [UInt8])
}

/// Standard error: one `write(2)` a line, so that lines of several threads and processes do not mix.
public final class StandardErrorSink: LogSink {
  /// Lines lost because the descriptor did not take them.
  public var lostLines: Int { lost.load(ordering: .relaxed) }
  private let lost = Atomic<Int>(0)
  private let descriptor: Int32

  public init(descriptor: Int32 = 2) {
    self.descriptor = descriptor
  }

  /// Writes a line. A line that a full non-blocking descriptor refuses is dropped and counted: a service must not
  /// stand still because nobody reads its log.
  public func write(_ line: [UInt8]) {
    line.withUnsafeBytes { bytes in
      var offset = 0
      while offset < bytes.count {
        let count = systemWrite(descriptor, UnsafeRawBufferPointer(rebasing: bytes[offset...]))
        if count > 0 {
          offset += count
        } else if count < 0, errno == EINTR {
          continue
        } else {
          lost.add(1, ordering: .relaxed)
          return
        }
      }
    }
  }
}

/// `write(2)`, named apart from the methods called `write`.
func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
  write(descriptor, bytes.baseAddress, bytes.count)
}
