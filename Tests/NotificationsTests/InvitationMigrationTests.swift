import CampanileAPI
import CampanileBase
import CampanileRPC
import CampanileStore
import ServiceTesting
import Testing

@testable import Notifications

@Suite struct InvitationMigrationTests {
  @Test("existing shares remain and are counted separately from the member's own buckets")
  func sharesSurviveTheMigration() async throws {
    var limits = NotificationsLimits()
    limits.bucketsPerUserMax = 2
    let fixture = try Fixture(limits)
    let earlier = NotificationsMigrations.all.prefix { $0.identifier != NotificationsMigrations.invitations.identifier }
    let old = try Store(fixture.configuration, migrations: Array(earlier))
    try await old.write { transaction in
      for (name, count) in [("anna", 1), ("bruno", 2), ("carla", 1)] {
        try transaction.execute(
          """
          INSERT INTO users (user_id, bucket_count, notification_count, unread_count, compacted_through)
          VALUES ($1, $2, 0, 0, 0)
          """, [.text(name), .int(count)])
      }
      for (name, id, owner, role, shares) in [
        ("anna", "b_team", "", 4, 1), ("bruno", "b_team", "anna", 2, 0), ("bruno", "b_own", "", 4, 0),
        ("carla", "b_hers", "", 4, 0),
      ] {
        try transaction.execute(
          """
          INSERT INTO buckets (user_id, id, name, is_orphan, created_at_ms, updated_at_ms, version, notification_count,
            unread_count, owner_id, role, share_count) VALUES ($1, $2, 'x', 0, 1, 1, 1, 0, 0, $3, $4, $5)
          """, [.text(name), .text(id), .text(owner), .int(role), .int(shares)])
      }
    }
    await old.close()
    let component = try await fixture.open()
    let counts = try component.store.readBlocking { transaction in
      try transaction.query("SELECT user_id, bucket_count, shared_bucket_count FROM users ORDER BY user_id") { row in
        "\(try row.text(0)) \(try row.integer(1)) \(try row.integer(2))"
      }
    }
    #expect(counts == ["anna 1 0", "bruno 1 1", "carla 1 0"])
    // The member publishes as before, can create another bucket again, and may leave.
    _ = try await component.service.make("still here", in: "b_team", bruno)
    #expect(try await component.service.all(anna).map(\.title) == ["still here"])
    _ = try await component.service.makeBucket("second", bruno)
    _ = try await component.sharing.unshareBucket(.init(bucketId: "b_team", userId: "bruno"), context: bruno)
    #expect(
      await failure { try await component.sharing.invite("bruno", to: "b_team", by: "anna") }?.reason
        == "INVITATION_TOO_SOON")
    await component.close()
  }
}
