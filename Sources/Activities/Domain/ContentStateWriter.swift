import CampanileCodec

/// A writer for the content-state of a driver: an object with texts, numbers and dates.
struct ContentStateWriter: ~Copyable {
  private var writer = JSONWriter(capacity: 1_024)
  private let dates: ContentDates

  init(dates: ContentDates) { self.dates = dates }

  mutating func beginObject() -> Int { writer.beginObject() }
  mutating func endObject(_ start: Int) { writer.endObject(start) }
  mutating func beginArray() -> Int { writer.beginArray() }
  mutating func nextElement() { writer.nextElement() }
  mutating func endArray(_ start: Int) { writer.endArray(start) }

  /// Writes a member; `name` begins with a comma.
  mutating func text(_ name: StaticString, _ value: String) {
    writer.name(name)
    writer.string(value)
  }

  mutating func text(_ name: StaticString, _ value: String?) {
    if let value { text(name, value) }
  }

  mutating func integer(_ name: StaticString, _ value: Int64) {
    writer.name(name)
    writer.number(value)
  }

  mutating func bool(_ name: StaticString, _ value: Bool) {
    writer.name(name)
    writer.bool(value)
  }

  /// Writes the URL that a tap opens, if there is one.
  mutating func url(_ url: String) {
    if !url.isEmpty { text(",\"url\":", url) }
  }

  mutating func name(_ name: StaticString) { writer.name(name) }

  /// Writes a duration in seconds, with up to three decimals.
  mutating func seconds(_ name: StaticString, ms: Int64) {
    writer.name(name)
    decimal(ms)
  }

  mutating func date(_ name: StaticString, ms: Int64) {
    writer.name(name)
    switch dates {
    case .foundation: decimal(ms - ContentDates.foundationEpochMs)
    case .unix: decimal(ms)
    case .iso8601: ProtoTimestamp(millisecondsSince1970: ms).encode(to: &writer)
    }
  }

  /// Writes thousandths as a decimal number: exact, unlike a double.
  private mutating func decimal(_ thousandths: Int64) {
    if thousandths < 0 { writer.append(UInt8(ascii: "-")) }
    let magnitude = thousandths.magnitude
    writer.number(magnitude / 1_000)
    var rest = magnitude % 1_000
    guard rest > 0 else { return }
    writer.append(UInt8(ascii: "."))
    var digits = 3
    while rest % 10 == 0 {
      rest /= 10
      digits -= 1
    }
    let text = String(rest)
    writer.append(raw: String(repeating: "0", count: digits - text.utf8.count) + text)
  }

  /// The text written.
  borrowing func json() -> String { writer.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
}
