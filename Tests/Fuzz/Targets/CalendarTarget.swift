import CampanileAPI
import CampanileCodec

@testable import Attendance

/// Lines of a calendar are short and correctly terminated, and unfolding them returns the meeting's texts.
let calendarTarget = FuzzTarget("calendar") { input in
  let parts = String(decoding: input, as: UTF8.self).unicodeScalars
    .split(separator: "\u{0}", maxSplits: 3, omittingEmptySubsequences: false).map { String($0) }
  var meeting = Meeting(
    id: "m_1", startTime: ProtoTimestamp(millisecondsSince1970: Int64(input.count) * 86_400_000), discussion: parts[0])
  if parts.count > 1 { meeting.location = parts[1] }
  if parts.count > 2 { meeting.introducedBy = parts[2] }
  if parts.count > 3 { meeting.notes = parts[3] }
  let bytes = Array(ICalendar.text([meeting], nowMs: 0).utf8)
  require(bytes.suffix(2) == [13, 10], "the last line is not terminated")
  var lines: [[UInt8]] = []
  for line in split(bytes) {
    require(line.count <= ICalendar.lineBytesMax, "a line of \(line.count) bytes")
    require(String(validating: line, as: UTF8.self) != nil, "a character is split: \(shown(line))")
    require(!line.contains { $0 < 0x20 && $0 != 9 || $0 == 0x7F }, "a control character: \(shown(line))")
    if line.first == 0x20, !lines.isEmpty { lines[lines.count - 1] += line.dropFirst() } else { lines.append(line) }
  }
  require(lines.filter { $0 == Array("BEGIN:VEVENT".utf8) }.count == 1, "a text created another event")
  require(value("SUMMARY", lines) == plain(parts[0]), "different summary: \(shown(bytes))")
  if parts.count > 1, !parts[1].isEmpty {
    require(value("LOCATION", lines) == plain(parts[1]), "different location: \(shown(bytes))")
  }
}

private func split(_ bytes: [UInt8]) -> [[UInt8]] {
  var lines: [[UInt8]] = [[]]
  var at = 0
  while at < bytes.count {
    if bytes[at] == 13, at + 1 < bytes.count, bytes[at + 1] == 10 {
      lines.append([])
      at += 2
    } else {
      lines[lines.count - 1].append(bytes[at])
      at += 1
    }
  }
  return lines.dropLast()
}

/// Returns a line's TEXT value, unescaped.
private func value(_ name: String, _ lines: [[UInt8]]) -> [UInt8]? {
  let start = Array("\(name):".utf8)
  guard let line = lines.first(where: { $0.starts(with: start) })?.dropFirst(start.count) else { return nil }
  var out: [UInt8] = []
  var isEscaped = false
  for byte in line {
    if isEscaped { out.append(byte == UInt8(ascii: "n") ? 10 : byte) } else if byte != 0x5C { out.append(byte) }
    isEscaped = !isEscaped && byte == 0x5C
  }
  return out
}

/// Returns the part of a text that a calendar preserves: line ends as line feeds, without other control characters.
private func plain(_ text: String) -> [UInt8] {
  var out: [UInt8] = []
  var last: UInt8 = 0
  for byte in text.utf8 {
    if byte == 10, last == 13 { last = 0; continue }
    if byte == 13 || byte == 10 { out.append(10) } else if byte == 9 || byte >= 0x20, byte != 0x7F { out.append(byte) }
    last = byte
  }
  return out
}
