import Foundation
import Testing

@testable import CampanileClient
import CampanileNotifications
@testable import CampanileSync

/// The files, messages and overlays of Sync, without a network.
struct SyncFileTests {
  private let file = """
    {"notifications":[{"id":"n_1","title":"à / \\"q\\"","createdAt":"2025-11-08T10:00:00Z",
    "updatedAt":"2025-11-08T10:00:00Z","bucketId":"b_1","attachments":[{"mediaType":"IMAGE","url":"https://a/b"}],
    "actions":[{"type":"DELETE","destructive":true,"value":"x"}],"new":1}],"syncTimestamp":"2025-11-08T10:00:01Z"}
    """

  @Test func fileOfTheSeedIsReadAndWritten() throws {
    let container = try NotificationsDataContainer(file: Array(file.utf8))
    let notification = try #require(container.notifications.first)
    #expect(notification.title == "à / \"q\"" && !notification.isRead && notification.actions[0].destructive)
    let text = String(decoding: try container.encoded(), as: UTF8.self)
    // Absent members are not null, which the app's decoder would refuse in other places.
    #expect(!text.contains("null") && !text.contains("\\/"))
    #expect(try NotificationsDataContainer(file: Array(text.utf8)) == container)
    #expect(throws: RPCError.self) { try BucketsDataContainer(file: Array("[]".utf8)) }
    #expect(SyncTime.text(Date(timeIntervalSince1970: 1.5)) == "1970-01-01T00:00:01.500Z")
  }

  @Test func overlayShowsWhatTheFilesDoNotKnow() throws {
    let notifications = ["n_1", "n_2", "n_3"].map {
      SyncNotification(id: $0, title: $0, createdAt: "", updatedAt: "", bucketId: $0 == "n_3" ? "b_2" : "b_1")
    }
    var overlay = SyncOverlay()
    let messages: [(CompanionMessage, Bool)] = [
      (.init(.notificationRead, entityID: "n_1"), false), (.init(.notificationDeleted, entityID: "n_2"), false),
      (.init(.bucketDeleted, entityID: "b_2"), false), (.init(.bucketUpdated, entityID: "b_1"), true),
      (.init(.fullSync), true),
    ]
    for (message, needsFiles) in messages {
      let answer = overlay.add(message)
      #expect(answer == needsFiles)
    }
    let shown = overlay.apply(notifications)
    #expect(shown.map(\.id) == ["n_1"] && shown[0].isRead)
    #expect(overlay.apply([SyncBucket(id: "b_2", name: "B", createdAt: "", updatedAt: "")]).isEmpty)
  }

  @Test func messageIsTheSameOnBothWays() throws {
    let message = CompanionMessage(.notificationRead, entityID: "n_1", at: Date(timeIntervalSince1970: 1.25))
    let decoded = try #require(CompanionDictionary.decode(CompanionDictionary.encode(message, source: "watch")))
    #expect(decoded.message == message && decoded.source == "watch")
    #expect(CompanionMessage(message.message) == message)
    #expect(CompanionDictionary.decode(["own": 1]) == nil)
    #expect(CompanionDictionary.decode(["campanile": ["type": "unknown", "timestamp": "", "source": ""]]) == nil)
    for type in CompanionMessage.UpdateType.allCases {
      #expect(CompanionMessage(CompanionMessage(type, entityID: "x").message).type == type)
    }
  }

  @Test func messageIsHandledOnce() throws {
    var state = ZoneState()
    let message = CompanionMessage(.notificationRead, entityID: "n_1", at: Date(timeIntervalSince1970: 1))
    let answers = ["watch", "watch", "phone", "watch"].map { state.isNew(message, from: $0) }
    #expect(answers == [true, false, true, false])
    for number in 0..<2_000 { _ = state.isNew(.init(.bucketUpdated, entityID: "\(number)"), from: "watch") }
    #expect(state.recentMessages.count == ZoneState.recentMessagesMax)
  }

  @Test func storeKeepsTheNewestVersion() throws {
    let folder = try TestFolder()
    let store = ZoneStore(folder.url.appendingPathComponent("zone"))
    #expect(try store.state() == ZoneState() && store.content("a") == nil)
    let name = String(repeating: "à", count: 200)
    try store.store(name, [1, 2], .init(etag: "v1", version: 1, recordType: "Notes"))
    #expect(try store.content(name) == [1, 2] && store.state().assets[name]?.etag == "v1")
    // A damaged state is like none.
    try Data("{".utf8).write(to: folder.url.appendingPathComponent("zone/zone.json"))
    #expect(try store.state() == ZoneState())
    try store.remove(name)
    #expect(try store.content(name) == nil)
  }

  @Test func hashIsThatOfTheStandard() {
    #expect(
      Hexadecimal.text(SHA256.hash(Array("abc".utf8)))
        == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    #expect(
      Hexadecimal.text(SHA256.hash([])) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    #expect(
      Hexadecimal.text(SHA256.hash([UInt8](repeating: UInt8(ascii: "a"), count: 1_000_000)))
        == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
    // The padding needs another block from 56 bytes on.
    #expect(
      Hexadecimal.text(SHA256.hash(Array("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq".utf8)))
        == "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1")
  }
}
