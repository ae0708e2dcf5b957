import CampanileActivities
import CampanileNotifications
import Foundation
import Testing

@testable import CampanileClient

/// The states decode what the simulated devices displayed, byte for byte, in every form of dates.
///
/// The fixture is written by Tests/SuiteTests/pushed_screens.py; with `CAMPANILE_CLIENT_SCREENS`, the screens of a
/// running suite are read in addition.
struct PushedStateTests {
  /// A screen, and what the service said about it.
  struct Screen {
    var form = ""
    var kind = ""
    var source = ""
    var contentState = ""
  }

  static var screens: [Screen] {
    get throws {
      let fixture = try #require(
        Bundle.module.url(forResource: "pushed-screens", withExtension: "jsonl", subdirectory: "Fixtures"))
      var text = try String(contentsOf: fixture, encoding: .utf8)
      if let path = Gateway.variable("SCREENS") { text += try String(contentsOfFile: path, encoding: .utf8) }
      return try text.split(separator: "\n").map { try screen(Array($0.utf8)) }
    }
  }

  @Test func everyScreenIsDecoded() throws {
    let screens = try Self.screens
    #expect(screens.count >= 15)
    #expect(Set(screens.map(\.form)) == ["foundation", "unix", "iso8601"])
    for screen in screens {
      switch screen.kind {
      case "timer": try compareTimer(screen)
      case "room": try compareRoom(screen)
      case "unread": try compareUnread(screen)
      default: Issue.record("unknown kind \(screen.kind)")
      }
    }
  }

  private func compareTimer(_ screen: Screen) throws {
    let state = try TimerContentState(activityJSON: screen.contentState)
    guard case .timer(let timer)? = try Activity(jsonString: screen.source).driver else {
      Issue.record("no timer")
      return
    }
    let expected = TimerContentState(timer)
    #expect(near(state.startedAt, expected.startedAt) && near(state.pausedAt, expected.pausedAt))
    #expect(state.duration == 1800.5 && abs(state.totalPausedDuration - expected.totalPausedDuration) < 0.001)
    #expect(state.methodName == expected.methodName && state.sessionType == .countdown)
    #expect(state.sessionType == expected.sessionType)
  }

  private func compareRoom(_ screen: Screen) throws {
    let state = try RoomContentState(activityJSON: screen.contentState)
    guard case .room(let room)? = try Activity(jsonString: screen.source).driver else {
      Issue.record("no room")
      return
    }
    let expected = RoomContentState(room)
    #expect(near(state.lastUpdated, expected.lastUpdated))
    // The service's titles and colours are those of the client.
    #expect(state.title == expected.title && state.colorHex == expected.colorHex && state.phase == expected.phase)
    #expect(state.roomId == room.roomId && HexColor(state.colorHex) != nil)
  }

  private func compareUnread(_ screen: Screen) throws {
    let state = try UnreadContentState(activityJSON: screen.contentState)
    let summary = try UnreadSummary(jsonString: screen.source)
    #expect(state.notifications.map(\.id) == summary.notifications.prefix(3).map(\.id))
    #expect(state.notifications.map(\.title) == summary.notifications.prefix(3).map(\.title))
    #expect(state.notifications.map(\.subtitle) == summary.notifications.prefix(3).map(\.subtitle))
    #expect(state.notifications.map(\.bucketName) == summary.notifications.prefix(3).map(\.bucketName))
    #expect(state.unreadCount == Int(summary.unreadCount) && state.hiddenCount == 1)
    for (item, expected) in zip(state.notifications, summary.notifications) {
      #expect(near(item.createdAt, expected.createTime?.date))
    }
  }

  private func near(_ date: Date?, _ other: Date?) -> Bool {
    switch (date, other) {
    case (let date?, let other?): abs(date.timeIntervalSince(other)) < 0.002
    case (nil, nil): true
    default: false
    }
  }

  private static func screen(_ line: [UInt8]) throws -> Screen {
    let read = line.withUnsafeBytes { bytes in
      Result { () throws(ProtoJSONError) in
        var screen = Screen()
        var reader = JSONReader(bytes)
        var more = try reader.beginObject()
        while more {
          switch try reader.stringKey() {
          case "form": screen.form = try reader.string()
          case "kind": screen.kind = try reader.string()
          case "source": screen.source = try reader.rawValue()
          case "screen": screen.contentState = try contentState(&reader)
          default: try reader.skipValue()
          }
          more = try reader.nextMember()
        }
        return screen
      }
    }
    return try read.get()
  }

  private static func contentState(_ reader: inout JSONReader) throws(ProtoJSONError) -> String {
    var text = ""
    var more = try reader.beginObject()
    while more {
      if try reader.key().matches("contentState") { text = try reader.rawValue() } else { try reader.skipValue() }
      more = try reader.nextMember()
    }
    return text
  }
}
