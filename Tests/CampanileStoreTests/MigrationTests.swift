import CampanileStore
import Testing

@Suite struct MigrationTests {
  private let one = Migration("0001-a", "CREATE TABLE a (id BIGINT NOT NULL PRIMARY KEY)")
  private let two = Migration("0002-b", "CREATE TABLE b (id BIGINT NOT NULL PRIMARY KEY); INSERT INTO b VALUES (7)")

  private func open(_ scratch: Scratch, _ migrations: [Migration]) async throws -> MigrationPlan {
    let store = try openStore(scratch.file(), migrations: migrations)
    let plan = store.migrationPlan
    await store.close()
    return plan
  }

  @Test func migrationsApplyOnceInOrder() async throws {
    let scratch = Scratch()
    let first = try await open(scratch, [one])
    #expect(first.pending.last == "0001-a")
    #expect(first.applied.isEmpty)
    let second = try await open(scratch, [one, two])
    #expect(second.pending == ["0002-b"])
    #expect(second.applied.last == "0001-a")
    #expect(try await open(scratch, [one, two]).pending.isEmpty)
  }

  @Test func dryRunChangesNothing() async throws {
    let scratch = Scratch()
    let all = try Store.migrationPlan(testConfiguration(scratch.file()), migrations: [one, two])
    #expect(all.pending.suffix(2) == ["0001-a", "0002-b"])
    _ = try await open(scratch, [one])
    let plan = try Store.migrationPlan(testConfiguration(scratch.file()), migrations: [one, two])
    #expect(plan.pending == ["0002-b"])
    #expect(try await open(scratch, [one, two]).pending == ["0002-b"])
  }

  @Test func changedMigrationIsRefused() async throws {
    let scratch = Scratch()
    _ = try await open(scratch, [one])
    let changed = Migration(one.identifier, one.sql + " ")
    let error = await #expect(throws: StoreError.self) { try await open(scratch, [changed]) }
    #expect(error?.code == .migration)
    #expect(error?.message.contains("0001-a") == true)
    let server = try testConfiguration(scratch.file()).engine?.place
    #expect(error?.path == server ?? scratch.file())
  }

  @Test func newerSchemaIsRefused() async throws {
    let scratch = Scratch()
    _ = try await open(scratch, [one, two])
    let error = await #expect(throws: StoreError.self) { try await open(scratch, [one]) }
    #expect(error?.code == .migration)
    #expect(error?.message.contains("newer") == true)
    #expect(throws: StoreError.self) {
      try Store.migrationPlan(testConfiguration(scratch.file()), migrations: [one])
    }
  }

  @Test func reorderedOrDuplicateMigrationsAreRefused() async throws {
    let scratch = Scratch()
    _ = try await open(scratch, [one, two])
    await expect(.migration) { _ = try await open(scratch, [two, one]) }
    await expect(.migration) { _ = try await open(Scratch(), [one, one]) }
    await expect(.migration) { _ = try await open(scratch, [one, Migration("0001-z", "SELECT 1"), two]) }
  }

  @Test func failedMigrationIsRolledBack() async throws {
    let scratch = Scratch()
    let broken = Migration("0002-broken", "CREATE TABLE c (id BIGINT); INSERT INTO nowhere VALUES (1)")
    let error = await #expect(throws: StoreError.self) { try await open(scratch, [one, broken]) }
    #expect(error?.code == .migration)
    #expect(error?.message.contains("0002-broken") == true)
    // The table of the broken migration does not exist, and the migration before it is still applied.
    let mended = Migration("0002-mended", "CREATE TABLE c (id BIGINT)")
    #expect(try await open(scratch, [one, mended]).pending == ["0002-mended"])
  }

  @Test func migrationCannotEndItsTransaction() async throws {
    let scratch = Scratch()
    let escaping = Migration("0001-escape", "COMMIT; CREATE TABLE d (id BIGINT)")
    await expect(.migration) { _ = try await open(scratch, [escaping]) }
  }

  @Test func checksumIsSHA256() throws {
    #expect(
      try Migration("x", "abc").checksum(for: .sqlite)
        == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    #expect(
      try Migration("x", "").checksum(for: .sqlite)
        == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    let million = Migration("x", String(repeating: "a", count: 1_000_000))
    #expect(try million.checksum(for: .sqlite) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
  }
}
