internal import Foundation

/// Times of a thread and its processor from Linux, in nanoseconds since their start (proc(5)).
struct ProcessorTimes: Sendable, Hashable {
  /// Time that the thread ran.
  var ranNs: Int64
  /// Time that the thread was ready to run but had no processor.
  var waitedNs: Int64
  /// The number of the processor that the thread last ran on.
  var processor: Int
  /// Idle time of that processor, with a precision of 10 ms; nil if unknown.
  var idleNs: Int64?

  /// Returns the current times of a thread; nil if they are unknown. Callable from any thread.
  typealias Reader = @Sendable () -> ProcessorTimes?

  init(ranNs: Int64, waitedNs: Int64, processor: Int, idleNs: Int64?) {
    self.ranNs = ranNs
    self.waitedNs = waitedNs
    self.processor = processor
    self.idleNs = idleNs
  }

  /// Parses the files of `/proc`; returns nil if one of the first two is invalid.
  ///
  /// - Parameters:
  ///   - schedstat: The thread's `schedstat`.
  ///   - stat: The thread's `stat`.
  ///   - machine: `/proc/stat`.
  init?(schedstat: String, stat: String, machine: String) {
    let times = schedstat.split(whereSeparator: \.isWhitespace)
    // The second field is the thread's name, which may contain any character. The processor is field 39.
    let fields = stat[(stat.lastIndex(of: ")") ?? stat.endIndex)...].split(separator: " ")
    guard times.count == 3, let ran = Int64(times[0]), let waited = Int64(times[1]), fields.count > 37,
      let processor = Int(fields[37])
    else { return nil }
    self.init(ranNs: ran, waitedNs: waited, processor: processor, idleNs: Self.idleNs(of: processor, in: machine))
  }

  /// Returns the idle time: the fourth and fifth numbers of the processor's line, idle and iowait, in units of 10 ms.
  private static func idleNs(of processor: Int, in machine: String) -> Int64? {
    for line in machine.split(separator: "\n") {
      guard line.hasPrefix("cpu") else { return nil }
      let words = line.split(separator: " ")
      guard words[0] == "cpu\(processor)" else { continue }
      guard words.count > 5, let idle = Int64(words[4]), let disk = Int64(words[5]) else { return nil }
      return (idle + disk) * 10_000_000
    }
    return nil
  }

  /// Returns a reader for the calling thread.
  ///
  /// Use the reader on another thread, because reading `/proc/stat` is slow on a machine with many processors.
  static func ofThisThread() -> Reader {
    let folder = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")).map { "/proc/" + $0 }
    return {
      guard let folder else { return nil }
      func text(_ path: String) -> String {
        FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) } ?? ""
      }
      return ProcessorTimes(
        schedstat: text(folder + "/schedstat"), stat: text(folder + "/stat"), machine: text("/proc/stat"))
    }
  }
}
