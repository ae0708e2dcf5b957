import CampanileAPI
import CampanileBase
import CampanileService
import Foundation

/// The title and body of a notice.
struct NoticeText: Sendable, Hashable {
  /// The maximum length of a meeting's topic in a title, in characters.
  private static let topicMax = 160

  var title: String
  var body: String

  /// - Parameters:
  ///   - zone: The lodge's time zone, for a meeting without its own.
  ///   - missedCount: The number of missed meetings, for a notice about absences.
  init(_ job: NoticeJob, _ language: LodgeLanguage, zone: TimeZone, missedCount: Int) {
    let isItalian = language == .italian
    let zone = job.timeZone.isEmpty ? zone : TimeZone(identifier: job.timeZone) ?? zone
    let time = NoticeTime(job.startMs, zone).text(isItalian: isItalian)
    let place = job.location.isEmpty ? "" : ", \(job.location)"
    let topic =
      job.discussion.count > Self.topicMax ? job.discussion.prefix(Self.topicMax - 1) + "…" : job.discussion[...]
    switch job.kind {
    case .meetingChanged:
      title = isItalian ? "Tornata modificata: \(topic)" : "Meeting changed: \(topic)"
      body = isItalian ? "La tornata si tiene \(time)\(place)." : "The meeting takes place on \(time)\(place)."
      if let oldStartMs = job.oldStartMs, oldStartMs != job.startMs {
        let before = NoticeTime(oldStartMs, zone).text(isItalian: isItalian)
        body += isItalian ? " Era prevista \(before)." : " It was planned for \(before)."
      }
    case .meetingCancelled:
      title = isItalian ? "Tornata annullata: \(topic)" : "Meeting cancelled: \(topic)"
      body =
        isItalian
        ? "La tornata di \(time)\(place) non si tiene." : "The meeting of \(time)\(place) does not take place."
    case .absence:
      title = isItalian ? "Assenze consecutive: \(missedCount)" : "Consecutive absences: \(missedCount)"
      body =
        isItalian
        ? "L'ultima tornata senza la tua presenza: \(topic), \(time)."
        : "The last meeting without your presence: \(topic), \(time)."
    default:
      title = isItalian ? "Promemoria: \(topic)" : "Reminder: \(topic)"
      body = isItalian ? "Tornata \(time)\(place)." : "Meeting on \(time)\(place)."
    }
  }
}

/// A local date and time in words, for example `martedì 25 novembre 2025 alle 19:30`.
private struct NoticeTime {
  private static let days: [(english: String, italian: String)] = [
    ("Sunday", "domenica"), ("Monday", "lunedì"), ("Tuesday", "martedì"), ("Wednesday", "mercoledì"),
    ("Thursday", "giovedì"), ("Friday", "venerdì"), ("Saturday", "sabato"),
  ]
  private static let months: [(english: String, italian: String)] = [
    ("January", "gennaio"), ("February", "febbraio"), ("March", "marzo"), ("April", "aprile"), ("May", "maggio"),
    ("June", "giugno"), ("July", "luglio"), ("August", "agosto"), ("September", "settembre"), ("October", "ottobre"),
    ("November", "novembre"), ("December", "dicembre"),
  ]

  private let date: CivilDate
  private let weekday: Int
  private let clock: String

  init(_ instantMs: Int64, _ zone: TimeZone) {
    let day = WallClockTime(zone).day(of: instantMs)
    let offsetMs = Int64(zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(instantMs) / 1_000))) * 1_000
    let minutes = (instantMs + offsetMs - day * WallClockTime.dayMs) / 60_000
    date = CivilDate(daysSince1970: Int(day))
    // 1970-01-01 was a Thursday.
    weekday = Int(((day + 4) % 7 + 7) % 7)
    clock = "\(Days.two(Int(minutes / 60))):\(Days.two(Int(minutes % 60)))"
  }

  func text(isItalian: Bool) -> String {
    let (day, month) = (Self.days[weekday], Self.months[date.month - 1])
    return isItalian
      ? "\(day.italian) \(date.day) \(month.italian) \(date.year) alle \(clock)"
      : "\(day.english), \(date.day) \(month.english) \(date.year) at \(clock)"
  }
}
