import CampanileAPI
import CampanileRPC
import CampanileStore
import FoundationEssentials
import Testing

@testable import Notifications

@Suite struct ModelTests {
  /// Random operations of two users against the service: lists and counts equal those of a model, and the log of changes,
  /// replayed, gives the same. A seed is printed with every failure; set CAMPANILE_SEED to repeat one.
  @Test func countsAndLogEqualARecount() async throws {
    let seed =
      ProcessInfo.processInfo.environment["CAMPANILE_SEED"].flatMap(UInt64.init) ?? UInt64.random(in: 0 ... .max)
    var source = SplitMix(state: seed)
    let fixture = try Fixture()
    var component = try await fixture.open()
    var unread: [String: [String: Bool]] = ["anna": [:], "bruno": [:]]
    var bucketOf: [String: String] = [:]
    var buckets: [String: [String]] = ["anna": [], "bruno": []]
    for step in 0..<600 {
      let name = ["anna", "bruno"][Int(source.next() % 2)]
      let context = user(name)
      let service = component.service
      let known = Array(unread[name, default: [:]].keys).sorted()
      func some() -> [String] {
        known.isEmpty ? [] : (0..<3).map { _ in known[Int(source.next() % UInt64(known.count))] }
      }
      switch source.next() % 10 {
      case 0: buckets[name]?.append(try await service.makeBucket("bucket \(step)", context).id)
      case 1...5:
        guard let all = buckets[name], !all.isEmpty else { continue }
        let target = all[Int(source.next() % UInt64(all.count))]
        let made = try await service.make("n \(step)", in: target, context)
        unread[name]?[made.id] = true
        bucketOf[made.id] = target
      case 6, 7:
        let ids = some()
        guard !ids.isEmpty else { continue }
        var request = MarkNotificationsReadRequest()
        request.notificationIds = ids
        _ = try await service.markNotificationsRead(request, context: context)
        for id in ids { unread[name]?[id] = false }
      case 8:
        let ids = some()
        guard !ids.isEmpty else { continue }
        var request = MarkNotificationsUnreadRequest()
        request.notificationIds = ids
        _ = try await service.markNotificationsUnread(request, context: context)
        for id in ids { unread[name]?[id] = true }
      default:
        if source.next() % 8 == 0, let id = buckets[name]?.popLast() {
          var request = DeleteBucketRequest()
          request.bucketId = id
          _ = try await service.deleteBucket(request, context: context)
          unread[name] = unread[name]?.filter { bucketOf[$0.key] != id }
        } else {
          var request = DeleteNotificationsRequest()
          request.notificationIds = some()
          guard !request.notificationIds.isEmpty else { continue }
          _ = try await service.deleteNotifications(request, context: context)
          for id in request.notificationIds { unread[name]?[id] = nil }
        }
      }
      if step % 50 == 49 {
        await component.close()
        component = try await fixture.open()
      }
      if step % 20 == 19 {
        for (name, model) in unread { try await check(component, name, model, bucketOf, "seed \(seed) step \(step)") }
      }
    }
    for (name, model) in unread { try await check(component, name, model, bucketOf, "seed \(seed)") }
    await component.close()
  }

  private func check(
    _ component: NotificationsComponent, _ name: String, _ model: [String: Bool], _ bucketOf: [String: String],
    _ note: String
  ) async throws {
    let context = user(name)
    let listed = try await component.service.all(context)
    #expect(Dictionary(uniqueKeysWithValues: listed.map { ($0.id, $0.readTime == nil) }) == model, "\(note)")
    #expect(listed.map(\.id) == listed.map(\.id).sorted(by: >), "\(note)")
    let counts = try await component.service.getUnreadCounts(GetUnreadCountsRequest(), context: context).unreadCounts
    let recount = Dictionary(grouping: model.filter(\.value).keys) { bucketOf[$0] ?? "" }.mapValues { Int32($0.count) }
    #expect(counts?.total == Int32(model.values.filter { $0 }.count), "\(note)")
    #expect(counts?.byBucket == recount, "\(note)")
    // The log, replayed from its beginning.
    var replayed: [String: Bool] = [:]
    var sequence: Int64 = 0
    while true {
      let changes = try component.service.repository.changes(user: name, after: sequence, limit: 50)
      guard let last = changes.last else { break }
      for change in changes {
        switch change.event.event {
        case .notificationCreated(let one), .notificationUpdated(let one): replayed[one.id] = one.readTime == nil
        case .notificationDeleted(let gone): replayed[gone.notificationId] = nil
        case .bucketDeleted(let gone): replayed = replayed.filter { bucketOf[$0.key] != gone.bucketId }
        default: break
        }
      }
      sequence = last.sequence
    }
    #expect(replayed == model, "\(note)")
  }

  @Test func everyQueryUsesAnIndex() async throws {
    let component = try await Fixture().open()
    let columns = Records.notificationColumns
    for sql in [
      "SELECT \(columns) FROM notifications WHERE user_id = $1 AND id = $2",
      "SELECT \(columns) FROM notifications WHERE user_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3",
      "SELECT \(columns) FROM notifications WHERE user_id = $1 AND bucket_id = $2 AND id < $3 ORDER BY id DESC LIMIT $4",
      "SELECT \(columns) FROM notifications WHERE user_id = $1 AND read_at_ms IS NULL AND id < $2 ORDER BY id DESC LIMIT $3",
      "SELECT \(columns) FROM notifications WHERE user_id = $1 AND bucket_id = $2 AND read_at_ms IS NULL ORDER BY id DESC LIMIT $3",
      "DELETE FROM notifications WHERE user_id = $1 AND bucket_id = $2",
      "SELECT \(Records.bucketColumns) FROM buckets WHERE user_id = $1 AND (name, id) > ($2, $3) ORDER BY name, id LIMIT $4",
      "SELECT id, unread_count FROM buckets WHERE user_id = $1",
      "SELECT sequence, bucket_id, event FROM changes WHERE user_id = $1 AND sequence > $2 ORDER BY sequence LIMIT $3",
      "DELETE FROM changes WHERE sequence <= $1",
    ] {
      #expect(try component.store.fullScans(sql) == [], "\(sql)")
      #expect(!(try component.store.queryPlan(sql).contains { $0.contains("TEMP B-TREE") }), "\(sql)")
    }
    await component.close()
  }
}

struct SplitMix {
  var state: UInt64
  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var z = state
    z = (z ^ z >> 30) &* 0xbf58_476d_1ce4_e5b9
    z = (z ^ z >> 27) &* 0x94d0_49bb_1331_11eb
    return z ^ z >> 31
  }
}
