internal import Foundation

/// What Linux tells of a thread and of the processor that it runs on, in nanoseconds since either began (proc(5)).
struct ProcessorTimes: Sendable, Hashable {
  /// On a processor.
  var ranNs: Int64
  /// Ready to run, without a processor.
  var waitedNs: Int64
  /// The number of the processor that the thread was on last.
  var processor: Int
  /// How long that one had nothing to do, to a hundredth of a second; `nil` is not told.
  var idleNs: Int64?

  /// Tells of one thread, any time and from any thread; `nil` where the system does not tell.
  typealias Reader = @Sendable () -> ProcessorTimes?

  init(ranNs: Int64, waitedNs: Int64, processor: Int, idleNs: Int64?) {
    self.ranNs = ranNs
    self.waitedNs = waitedNs
    self.processor = processor
    self.idleNs = idleNs
  }

  /// `schedstat` and `stat` are the thread's, `machine` is `/proc/stat`; `nil` where one of the first two is none.
  init?(schedstat: String, stat: String, machine: String) {
    let times = schedstat.split(whereSeparator: \.isWhitespace)
    // The name of the thread, the second field, may hold anything; the processor is field 39.
    let fields = stat[(stat.lastIndex(of: ")") ?? stat.endIndex)...].split(separator: " ")
    guard times.count == 3, let ran = Int64(times[0]), let waited = Int64(times[1]), fields.count > 37,
      let processor = Int(fields[37])
    else { return nil }
    self.init(ranNs: ran, waitedNs: waited, processor: processor, idleNs: Self.idleNs(of: processor, in: machine))
  }

  /// Idle and waiting for a disk: the fourth and the fifth number of the processor's line, in hundredths of a second.
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

  /// Tells of the calling thread from now on. Reading is for another thread: `/proc/stat` takes long on a machine with many processors.
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
