import CampanileNotifications
import Foundation
import Testing

@testable import CampanileClient
@testable import CampanileSync

/// Files and messages between devices, with a real gateway.
@Suite(.enabled(if: Gateway.isThere), .timeLimit(.minutes(2))) struct SyncGatewayTests {
  private let campanile: Campanile
  private let folder: TestFolder

  init() throws {
    campanile = try Gateway.campanile()
    folder = try TestFolder()
  }

  /// A device with its own folder and outbox.
  private func device(_ name: String, _ zoneID: String, _ role: DeviceRole = .writer) -> SyncZone {
    SyncZone(
      campanile, zoneID: zoneID, device: .init(id: "\(name)-\(zoneID)", role: role),
      folder: folder.url.appendingPathComponent(name), outbox: Outbox(path: folder.path("\(name)-outbox")))
  }

  private func newZone() async throws -> String {
    let zoneID = "swift-\(UUID().uuidString)"
    _ = try await campanile.sync.zones.createZone(.init(zoneId: zoneID))
    return zoneID
  }

  private func record(_ id: String, _ title: String, minute: Int) -> SyncNotification {
    let time = "2026-01-01T10:\(minute < 10 ? "0" : "")\(minute):00Z"
    return SyncNotification(id: id, title: title, createdAt: time, updatedAt: time, bucketId: "b_1")
  }

  @Test func filesAreMergedRecordByRecord() async throws {
    let zoneID = try await newZone()
    let (phone, tablet) = (device("phone", zoneID), device("tablet", zoneID))
    for zone in [phone, tablet] { try await zone.register() }
    #expect(try phone.stored(NotificationsDataContainer.self) == nil)
    try await phone.put(
      NotificationsDataContainer(records: [record("n_1", "one", minute: 1), record("n_2", "two", minute: 1)]))
    #expect(try await tablet.refresh() == ["notifications.json"])
    #expect(try await tablet.refresh().isEmpty)
    var mine = try #require(try tablet.stored(NotificationsDataContainer.self))
    #expect(mine.notifications.map(\.title) == ["one", "two"])
    // Both change the file: the later change of each record counts, and a deletion of an unchanged one.
    mine.notifications = [record("n_1", "one, later", minute: 9)]
    mine.syncTimestamp = "2026-01-01T10:10:00Z"
    try await tablet.put(mine)
    let merged = try await phone.put(
      NotificationsDataContainer(
        records: [
          record("n_1", "one, earlier", minute: 5), record("n_2", "two", minute: 1), record("n_3", "three", minute: 2),
        ],
        syncTimestamp: "2026-01-01T10:11:00Z"))
    #expect(Set(merged.notifications.map(\.title)) == ["one, later", "three"])
    #expect(try phone.stored(NotificationsDataContainer.self) == merged)
    try await tablet.refresh()
    #expect(try tablet.stored(NotificationsDataContainer.self) == merged)
  }

  @Test func largeFileGoesOverHTTP() async throws {
    let zoneID = try await newZone()
    let (phone, watch) = (device("phone", zoneID), device("watch", zoneID, .reader))
    try await phone.register()
    let body = String(repeating: "à+ &", count: 3_000)
    let records = (0..<120).map { number in
      var record = record("n_\(number)", "\(number)", minute: 1)
      record.body = body
      return record
    }
    let file = NotificationsDataContainer(records: records, syncTimestamp: "2026-01-01T10:10:00Z")
    #expect(try file.encoded().count > SyncZone.inlineBytesMax)
    try await phone.put(file)
    try await watch.refresh()
    #expect(try watch.stored(NotificationsDataContainer.self) == file)
  }

  @Test func backgroundSessionWritesAFile() async throws {
    let zoneID = try await newZone()
    let phone = device("phone", zoneID)
    try await phone.register()
    let (results, continuation) = AsyncStream.makeStream(of: (String, String?).self)
    let uploads = BackgroundUploads(identifier: "tests") { continuation.yield(($0, $1?.reason)) }
    defer { uploads.invalidate() }
    let file = BucketsDataContainer(
      records: [.init(id: "b_1", name: "B", createdAt: "2026-01-01T10:00:00Z", updatedAt: "2026-01-01T10:00:00Z")])
    try await uploads.put(file, to: phone, folder: folder.url.appendingPathComponent("uploads"))
    var iterator = results.makeAsyncIterator()
    let result = await iterator.next()
    #expect(result?.0 == "buckets.json" && result?.1 == nil)
    try await phone.refresh()
    #expect(try phone.stored(BucketsDataContainer.self)?.buckets == file.buckets)
    // Nothing remains of the copy that the system has read.
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path("uploads")).isEmpty)
  }

  @Test func readerMayNotWrite() async throws {
    let zoneID = try await newZone()
    let watch = device("watch", zoneID, .reader)
    try await watch.register()
    let error = await rpcError { try await watch.put(NotificationsDataContainer(records: [])) }
    #expect(error?.code == .permissionDenied || error?.code == .failedPrecondition)
  }

  @Test func subscribedDeviceIsWokenByItsZoneAndItsMessages() async throws {
    let watch = device("watch", try await newZone(), .reader)
    for _ in 0..<2 { try await watch.subscribe(app: "com.example.sync", installationID: "watch-1") }
    let devices = try await campanile.sync.devices.listSyncDevices(.init(pageSize: 1_000)).devices
    let stored = try #require(devices.first { $0.id == watch.device.id })
    #expect(stored.subscriptions == [.init(zoneId: watch.zoneID)] && stored.wakesForUpdates)
    #expect(stored.app == "com.example.sync" && stored.installationId == "watch-1")
  }

  @Test func messageArrivesOnceOverBothWays() async throws {
    let zoneID = try await newZone()
    let (phone, watch) = (device("phone", zoneID), device("watch", zoneID, .reader))
    for zone in [phone, watch] { try await zone.register() }
    let first = try watch.publish(.bucketUpdated, entityID: "b_1")
    #expect(try watch.waitingMessages() == [first])
    let seen = Locked<[CompanionMessage]>([])
    // The direct way is faster; the server's copy follows.
    try await phone.receivedFromCompanion(first, source: watch.device.id) { message in
      seen.withLock { $0.append(message) }
    }
    let second = try watch.publish(.fullSync)
    #expect(try await watch.outbox.sendNow(through: campanile.caller) == 0)
    try await phone.receiveWaiting { message in seen.withLock { $0.append(message) } }
    try await phone.receiveWaiting { message in seen.withLock { $0.append(message) } }
    #expect(seen.withLock { $0 }.filter { $0 == first }.count == 1 && seen.withLock { $0 }.contains(second))
    let waiting = try await campanile.sync.devices.listUpdates(.init(deviceId: phone.device.id)).updates
    #expect(waiting.filter { $0.sourceDeviceId == watch.device.id }.isEmpty)
  }

  @MainActor @Test func modelShowsWhatTheOtherDeviceDoes() async throws {
    let service = campanile.notifications.service
    let bucketID = try #require(
      try await service.createBucket(.init(bucket: .init(name: "Sync \(UUID().uuidString.prefix(8))"))).bucket?.id)
    let created = try #require(
      try await service.createNotification(.init(notification: .init(bucketId: bucketID, title: "synced"))).notification
    )
    let zoneID = "ZentikSyncZone"
    let outbox = Outbox(path: folder.path("model-outbox"))
    let phone = SyncModel(
      SyncZone(
        campanile, device: .init(id: "model-\(UUID().uuidString)", role: .writer),
        folder: folder.url.appendingPathComponent("model"), outbox: outbox))
    let running = Task { await phone.run() }
    defer { running.cancel() }
    func mine() -> SyncNotification? { phone.notifications.first { $0.id == created.id } }
    try await eventually("the exported file") { mine()?.title == "synced" && mine()?.isRead == false }
    #expect(phone.buckets.contains { $0.id == bucketID })
    let watch = device("other", zoneID, .reader)
    try await watch.register()
    try watch.publish(.notificationRead, entityID: created.id)
    try await watch.outbox.sendNow(through: campanile.caller)
    try await eventually("the message") { mine()?.isRead == true }
    // Sync has applied the message to the notification.
    try await eventually("the notification") {
      try await service.getNotification(.init(notificationId: created.id)).notification?.readTime != nil
    }
    phone.delete(created.id)
    #expect(mine() == nil && phone.waitingCount == 1)
    try await outbox.sendNow(through: campanile.caller)
    try await eventually("the deletion") {
      await rpcError { try await service.getNotification(.init(notificationId: created.id)) }?.code == .notFound
    }
    #expect(mine() == nil)
    running.cancel()
    // Another launch without a network shows the stored files.
    let offline = SyncModel(
      SyncZone(
        Campanile(URL(string: "http://127.0.0.1:9")!), device: .init(id: "model", role: .writer),
        folder: folder.url.appendingPathComponent("model"), outbox: Outbox(path: folder.path("offline-outbox"))))
    #expect(offline.isStale && !offline.buckets.isEmpty && offline.syncedAt != nil)
  }
}
