import Logging

/// The suite's log handler, which writes JSON lines or pretty text to a sink and redacts the values of secret keys.
struct CampanileLogHandler: LogHandler {
  /// Maximum length of a message or metadata value in UTF-8 bytes; longer ones are truncated.
  static let maximumTextBytes = 8 * 1024
  /// Maximum nesting of metadata; deeper values are written as `…`.
  static let maximumDepth = 8

  /// The level of the process, unless this logger has an individual level.
  var logLevel: Logger.Level {
    get { ownLevel ?? levels.level }
    set { ownLevel = newValue }
  }
  private var ownLevel: Logger.Level?
  private let levels: SharedLogLevel
  var metadata: Logger.Metadata = [:]
  var metadataProvider: Logger.MetadataProvider?
  let label: String
  let format: LogFormat
  let sink: any LogSink
  let redactor: LogRedactor
  /// Returns milliseconds since 1970; replaceable in tests.
  let now: @Sendable () -> Int64

  init(
    label: String, levels: SharedLogLevel, format: LogFormat, sink: any LogSink, redactor: LogRedactor = .init(),
    metadataProvider: Logger.MetadataProvider? = nil, now: @escaping @Sendable () -> Int64 = WallClock.nowMs
  ) {
    self.label = label
    self.levels = levels
    self.format = format
    self.sink = sink
    self.redactor = redactor
    self.metadataProvider = metadataProvider
    self.now = now
  }

  /// Creates a handler with a fixed level.
  init(
    label: String, level: Logger.Level, format: LogFormat, sink: any LogSink, redactor: LogRedactor = .init(),
    metadataProvider: Logger.MetadataProvider? = nil, now: @escaping @Sendable () -> Int64 = WallClock.nowMs
  ) {
    self.init(
      label: label, levels: SharedLogLevel(level), format: format, sink: sink, redactor: redactor,
      metadataProvider: metadataProvider, now: now)
  }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    var all = metadata
    if let provided = metadataProvider?.get(), !provided.isEmpty {
      all.merge(provided) { $1 }
    }
    if let own = event.metadata {
      all.merge(own) { $1 }
    }
    if let error = event.error {
      all["error"] = .string(String(describing: error))
    }
    switch format {
    case .json: sink.write(jsonLine(event, all))
    case .pretty: sink.write(prettyLine(event, all))
    }
  }

  private func jsonLine(_ event: LogEvent, _ metadata: Logger.Metadata) -> [UInt8] {
    var text = JSONText()
    text.raw("{\"ts\":")
    text.string(WallClock.rfc3339(now()))
    text.raw(",\"level\":")
    text.string(event.level.rawValue)
    text.raw(",\"logger\":")
    text.string(label)
    text.raw(",\"message\":")
    text.string(event.message.description, maximumBytes: Self.maximumTextBytes)
    if !metadata.isEmpty {
      text.raw(",\"metadata\":")
      write(metadata, to: &text, depth: 0)
    }
    text.raw("}\n")
    return text.bytes
  }

  private func write(_ metadata: Logger.Metadata, to text: inout JSONText, depth: Int) {
    text.raw("{")
    for (index, (key, value)) in metadata.sorted(by: { $0.key < $1.key }).enumerated() {
      if index > 0 { text.raw(",") }
      text.string(key)
      text.raw(":")
      if redactor.isSecret(key) {
        text.string(Secret.placeholder)
      } else {
        write(value, to: &text, depth: depth + 1)
      }
    }
    text.raw("}")
  }

  private func write(_ value: Logger.Metadata.Value, to text: inout JSONText, depth: Int) {
    guard depth <= Self.maximumDepth else { return text.string("…") }
    switch value {
    case .string(let string):
      text.string(string, maximumBytes: Self.maximumTextBytes)
    case .stringConvertible(let convertible):
      text.string(convertible.description, maximumBytes: Self.maximumTextBytes)
    case .dictionary(let dictionary):
      write(dictionary, to: &text, depth: depth)
    case .array(let values):
      text.raw("[")
      for (index, value) in values.enumerated() {
        if index > 0 { text.raw(",") }
        write(value, to: &text, depth: depth + 1)
      }
      text.raw("]")
    @unknown default:
      text.string("…")
    }
  }

  private func prettyLine(_ event: LogEvent, _ metadata: Logger.Metadata) -> [UInt8] {
    let time = WallClock.rfc3339(now()).dropFirst(11)
    let name = event.level.rawValue.uppercased()
    let level = name + String(repeating: " ", count: max(0, 8 - name.count))
    var line = "\u{1b}[2m\(time)\u{1b}[0m \(event.level.colour)\(level)\u{1b}[0m \(label): "
    line += event.message.description.prefix(Self.maximumTextBytes).singleLine
    for (key, value) in metadata.sorted(by: { $0.key < $1.key }) {
      var text = JSONText()
      if redactor.isSecret(key) { text.string(Secret.placeholder) } else { write(value, to: &text, depth: 1) }
      line += " \u{1b}[2m\(key.singleLine)=\u{1b}[0m" + String(decoding: text.bytes, as: UTF8.self)
    }
    return Array((line + "\n").utf8)
  }
}

extension Logger.Level {
  /// The escape sequence for the level's colour.
  fileprivate var colour: String {
    switch self {
    case .trace, .debug: "\u{1b}[2m"
    case .info: "\u{1b}[32m"
    case .notice: "\u{1b}[36m"
    case .warning: "\u{1b}[33m"
    case .error, .critical: "\u{1b}[31m"
    }
  }
}
