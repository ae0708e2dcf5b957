import CampanileAPI
import CampanileCodec
import CampanileService
import Testing

@testable import Notifications

@Suite struct SummaryShaperTests {
  private func item(
    _ index: Int, title: String = "Title", subtitle: String? = nil, body: String? = nil, icon: String? = nil
  ) -> UnreadItem {
    UnreadItem(
      id: "n_\(String(repeating: String(index), count: 22))", title: title, subtitle: subtitle, body: body,
      bucketId: "b_0123456789abcdefghjkmn", bucketName: "Bucket", bucketIconUrl: icon,
      createTime: ProtoTimestamp(millisecondsSince1970: 1_770_000_000_000))
  }

  private func shape(_ items: [UnreadItem]) -> UnreadSummary {
    let shaped = SummaryShaper.shape(items, unreadCount: 1_234_567, updateMs: 1_770_000_000_123)
    #expect(shaped.json == shaped.summary.jsonUTF8Bytes())
    #expect(shaped.json.count <= SummaryShaper.sizeBytesMax)
    #expect(shaped.summary.unreadCount == 1_234_567)
    #expect(shaped.summary.updateTime?.millisecondsSince1970 == 1_770_000_000_123)
    return shaped.summary
  }

  /// Whether a text is a prefix of whole characters of another one, followed by the mark.
  private func isShortened(_ text: String?, of original: String) -> Bool {
    guard let text else { return true }
    return text.last == SummaryShaper.mark && Array(original).starts(with: Array(text.dropLast()))
      && text.count <= original.count
  }

  @Test func shortTextsRemainUnchanged() {
    let items = (0..<5).map { item($0, subtitle: "Sub", body: "Body \($0)") }
    let summary = shape(items)
    #expect(summary.notifications == items && summary.truncation == nil)
    #expect(shape([]).notifications == [] && shape([]).truncation == nil)
    #expect(shape((0..<9).map { item($0) }).notifications.count == 5)
  }

  @Test func bodiesHave256CharactersAtMost() {
    let family = "👨‍👩‍👧‍👦"
    let exact = item(0, body: String(repeating: "é", count: 256))
    #expect(shape([exact]).notifications == [exact] && shape([exact]).truncation == nil)
    let long = shape([item(0, body: String(repeating: "é", count: 257)), item(1, body: "x")])
    #expect(long.notifications[0].body == String(repeating: "é", count: 255) + "…")
    #expect(long.notifications[1].body == "x")
    #expect(long.truncation?.shortenedBodyCount == 1 && long.truncation?.droppedCount == 0)
    let families = shape([item(0, body: String(repeating: family, count: 200))])
    let body = families.notifications[0].body ?? ""
    #expect(isShortened(body, of: String(repeating: family, count: 200)) && body.count > 50)
  }

  @Test func longestBodiesAreShortenedFirst() {
    let full = String(repeating: "b", count: 255)
    let wide = String(repeating: "字", count: 255)
    let summary = shape([
      item(0, subtitle: full, body: wide), item(1, subtitle: full, body: full), item(2, subtitle: full, body: "short"),
      item(3, body: wide), item(4, body: wide),
    ])
    #expect(summary.notifications.count == 5)
    #expect(summary.notifications[2].body == "short" && summary.notifications[1].body == full)
    let shortened = [0, 3, 4].map { summary.notifications[$0].body ?? "" }
    #expect(shortened.allSatisfy { isShortened($0, of: wide) && $0.count > 50 })
    #expect(Set(shortened.map(\.count)).count == 1)
    #expect(summary.notifications.prefix(3).allSatisfy { $0.subtitle == full })
    #expect(summary.truncation?.shortenedBodyCount == 3 && summary.truncation?.shortenedSubtitleCount == 0)
    // All space is used except the reserve for the three counts of the truncation.
    #expect(summary.jsonUTF8Bytes().count > SummaryShaper.sizeBytesMax - 64)
  }

  @Test func subtitlesAreShortenedBeforeOldestIsDropped() {
    let wide = String(repeating: "字", count: 200)
    let subtitles = shape(
      (0..<5).map { item($0, title: String(repeating: "t", count: 200), subtitle: wide, body: "body") })
    #expect(subtitles.notifications.count == 5)
    #expect(subtitles.notifications.allSatisfy { $0.body == nil && isShortened($0.subtitle, of: wide) })
    #expect(subtitles.truncation?.shortenedBodyCount == 5 && subtitles.truncation?.shortenedSubtitleCount == 5)
    let titles = (0..<5).map { item($0, title: String(repeating: "字", count: 256), body: "body") }
    let dropped = shape(titles)
    #expect(dropped.notifications.map(\.id) == titles.prefix(3).map(\.id))
    #expect(dropped.truncation?.droppedCount == 2)
    // The others use the space of the dropped ones.
    #expect(dropped.notifications.allSatisfy { $0.body == "body" } && dropped.truncation?.shortenedBodyCount == 0)
  }

  @Test func lastNotificationFitsWithoutIcon() {
    let worst = item(
      0, title: String(repeating: "\u{1}", count: 256), subtitle: String(repeating: "\"", count: 256),
      body: String(repeating: "\\", count: 16_384), icon: "https://example.org/" + String(repeating: "i", count: 2_028))
    let summary = shape([worst, worst])
    #expect(summary.notifications.count == 1 && summary.notifications[0].bucketIconUrl == nil)
    #expect(summary.notifications[0].title == worst.title && summary.truncation?.droppedCount == 1)
  }

  @Test func graphemeClustersAreNotCut() {
    let zalgo = "a" + String(repeating: "\u{301}", count: 3_000)
    let summary = shape([item(0, body: zalgo), item(1, body: "b")])
    #expect(summary.notifications[0].body == nil && summary.notifications[1].body == "b")
    #expect(summary.truncation?.shortenedBodyCount == 1)
  }

  @Test func randomTextsAlwaysFit() {
    let pieces = ["a", "é", "字", "🎉", "👨‍👩‍👧‍👦", "\"", "\n", "\u{1}", "🇮🇹", "e\u{301}", " ", "नि"]
    func text(_ countMax: Int) -> String {
      (0..<Int.random(in: 0...countMax)).map { _ in pieces.randomElement() ?? "" }.joined()
    }
    for _ in 0..<400 {
      let size = [10, 100, 250].randomElement() ?? 10
      let items = (0..<Int.random(in: 0...5)).map { index in
        item(
          index, title: text(size), subtitle: Bool.random() ? text(size) : nil,
          body: Bool.random() ? text(size * 8) : nil,
          icon: Bool.random() ? "https://example.org/\(String(repeating: "x", count: Int.random(in: 0...size)))" : nil)
      }
      let summary = shape(items)
      let truncation = summary.truncation ?? SummaryTruncation()
      #expect(summary.notifications.count + Int(truncation.droppedCount) == items.count)
      var bodies: Int32 = 0
      var subtitles: Int32 = 0
      for (shown, original) in zip(summary.notifications, items) {
        #expect(shown.id == original.id && shown.title == original.title)
        if shown.body != original.body {
          bodies += 1
          #expect(isShortened(shown.body, of: original.body ?? ""))
        }
        if shown.subtitle != original.subtitle {
          subtitles += 1
          #expect(isShortened(shown.subtitle, of: original.subtitle ?? ""))
        }
      }
      #expect(bodies == truncation.shortenedBodyCount && subtitles == truncation.shortenedSubtitleCount)
    }
  }

  @Test func summarySizeIsThreeToFive() {
    #expect([0, 3, 4, 5, 1, 99, -1].map { UnreadSummaryRules.size($0) } == [5, 3, 4, 5, 3, 5, 3])
    for (setting, isValid) in [(Int32(0), true), (3, true), (5, true), (2, false), (6, false), (-3, false)] {
      var violations = Violations()
      UserSettings(summarySize: setting).validate(into: &violations)
      #expect(violations.isEmpty == isValid)
    }
  }
}
