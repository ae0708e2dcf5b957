import Logging
import Synchronization

/// Log lines with their metadata.
final class LogLines: Sendable {
  private let lines = Mutex<[(String, Logger.Metadata)]>([])
  var all: [(message: String, metadata: Logger.Metadata)] { lines.withLock { $0 } }

  var logger: Logger { Logger(label: "test") { _ in Handler(lines: self) } }
  func add(_ message: String, _ metadata: Logger.Metadata) { lines.withLock { $0.append((message, metadata)) } }

  struct Handler: LogHandler {
    let lines: LogLines
    var logLevel = Logger.Level.debug
    var metadata: Logger.Metadata = [:]
    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }
    func log(event: LogEvent) { lines.add("\(event.message)", event.metadata ?? [:]) }
  }
}
