import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileService

/// Encodes meetings as iCalendar (RFC 5545).
enum ICalendar {
  static let contentType = "text/calendar; charset=utf-8"
  /// The maximum octets of a line, excluding the line break (section 3.1).
  static let lineBytesMax = 75

  /// The maximum bytes of events in one calendar. The oldest events are omitted.
  static let eventBytesMax = 2 << 20

  /// Returns a calendar of `meetings`, which must be ordered by start time. `nowMs` becomes the DTSTAMP of every event.
  static func text(_ meetings: [Meeting], nowMs: Int64) -> String {
    var events = PageRows<String>(countMax: meetings.count, sizeBytesMax: eventBytesMax)
    for meeting in meetings.reversed() {
      let event = event(meeting, nowMs)
      guard events.add(event, sizeBytes: event.utf8.count) else { break }
    }
    let head = [
      "BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Campanile//Attendance//EN", "CALSCALE:GREGORIAN", "METHOD:PUBLISH",
    ]
    return text(head) + events.items.reversed().joined() + text(["END:VCALENDAR"])
  }

  private static func text(_ lines: [String]) -> String { lines.map { fold($0) + "\r\n" }.joined() }

  private static func event(_ meeting: Meeting, _ nowMs: Int64) -> String {
    var lines = ["BEGIN:VEVENT"]
    lines.append("UID:\(meeting.id)@attendance.campanile")
    lines.append("DTSTAMP:\(utc(nowMs))")
    lines.append("DTSTART:\(utc(meeting.startMs))")
    lines.append("LAST-MODIFIED:\(utc(meeting.updateTime?.millisecondsSince1970 ?? nowMs))")
    lines.append("SEQUENCE:\((Etag.version(meeting.etag) ?? 1) - 1)")
    lines.append("SUMMARY:\(escaped(meeting.discussion))")
    if !meeting.location.isEmpty { lines.append("LOCATION:\(escaped(meeting.location))") }
    let description = [
      meeting.introducedBy.isEmpty ? nil : "Introduced by \(meeting.introducedBy)",
      meeting.hasDinner ? "With dinner" : nil, meeting.notes.isEmpty ? nil : meeting.notes,
    ].compactMap { $0 }
    if !description.isEmpty { lines.append("DESCRIPTION:\(escaped(description.joined(separator: "\n")))") }
    lines.append("CATEGORIES:\(category(meeting.type))")
    lines.append("STATUS:\(meeting.status == .cancelled ? "CANCELLED" : "CONFIRMED")")
    lines.append("END:VEVENT")
    return text(lines)
  }

  private static func category(_ type: MeetingType) -> String {
    switch type {
    case .extraordinary: "EXTRAORDINARY"
    case .ceremony: "CEREMONY"
    default: "ORDINARY"
    }
  }

  /// Formats a DATE-TIME in UTC, form 2 (section 3.3.5).
  static func utc(_ timeMs: Int64) -> String {
    let second = timeMs.floorDivided(by: 1_000)
    let day = second.floorDivided(by: 86_400)
    let rest = Int(second - day * 86_400)
    let date = Days.text(day).filter { $0 != "-" }
    return "\(date)T\(Days.two(rest / 3_600))\(Days.two(rest / 60 % 60))\(Days.two(rest % 60))Z"
  }

  /// Escapes TEXT (section 3.3.11). Removes control characters except line feed and tab.
  static func escaped(_ text: String) -> String {
    var out = ""
    // Iterate over scalars, because CR LF is a single `Character`.
    var lastWasReturn = false
    for scalar in text.unicodeScalars {
      defer { lastWasReturn = scalar == "\r" }
      switch scalar {
      case "\\", ";", ",":
        out.unicodeScalars.append("\\")
        out.unicodeScalars.append(scalar)
      case "\n": if !lastWasReturn { out += "\\n" }
      case "\r": out += "\\n"
      case "\t": out += "\t"
      default: if scalar.value >= 0x20, scalar.value != 0x7F { out.unicodeScalars.append(scalar) }
      }
    }
    return out
  }

  /// Folds a line into pieces of at most 75 octets without splitting a character (section 3.1). Continuation lines
  /// begin with a space.
  static func fold(_ line: String) -> String {
    guard line.utf8.count > lineBytesMax else { return line }
    var out = ""
    var used = 0
    for scalar in line.unicodeScalars {
      let size = String(scalar).utf8.count
      if used + size > lineBytesMax {
        out += "\r\n "
        used = 1
      }
      out.unicodeScalars.append(scalar)
      used += size
    }
    return out
  }
}
