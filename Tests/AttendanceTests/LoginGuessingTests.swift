import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileCrypto
import CampanileRPC
import CampanileStore
import ServiceTesting
import TestSupport
import Testing

@testable import Attendance

/// A context with the address of the gateway's caller.
private func at(_ address: String) -> CallContext {
  CallContext(method: anyMethod, metadata: ["campanile-remote-address": address])
}

extension AttendanceComponent {
  fileprivate func login(
    _ name: String, _ pin: String, device: String, _ context: CallContext
  ) async throws -> LoginResponse {
    try await sessions.login(.init(name: name, pin: pin, deviceToken: device), context: context)
  }

  /// Makes a number of wrong attempts, one at each address, and returns their errors.
  fileprivate func guess(_ name: String, _ count: Int, network: String = "198.51.100") async -> [String] {
    var reasons: [String] = []
    for index in 0..<count {
      reasons.append(await refusal { try await login(name, "000000", at("\(network).\(index)")) })
    }
    return reasons
  }

  fileprivate func setPin(_ member: Member, _ pin: String) async throws {
    _ = try await members.setMemberPin(.init(memberId: member.id, pin: pin), context: admin)
  }
}

private let wrong = "UNAUTHENTICATED CREDENTIALS_INVALID"
private let throttled = "RESOURCE_EXHAUSTED LOGIN_THROTTLED"
private let locked = "FAILED_PRECONDITION LOGIN_LOCKED"

@Suite struct LoginGuessingTests {
  @Test func failuresElsewhereDoNotBlockLogin() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let marco = try await component.makeMember("Marco Rossi", pin: "471147")
      #expect(await component.guess("Marco Rossi", 60) == Array(repeating: wrong, count: 60))
      #expect(try await component.login("Marco Rossi", "471147", at("192.0.2.6")).member?.id == marco.id)
    }
  }

  @Test func addressesOfOneNetworkShareThrottle() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      _ = try await component.makeMember("Anna", pin: "471147")
      for host in 0..<5 {
        #expect(await refusal { try await component.login("Anna", "000000", at("2001:db8:0:1::\(host)")) } == wrong)
      }
      #expect(await refusal { try await component.login("Anna", "471147", at("2001:db8:0:1:ffff::1")) } == throttled)
      _ = try await component.login("Anna", "471147", at("2001:db8:0:2::1"))
      for host in 0..<25 {
        #expect(
          await refusal { try await component.login("n\(host)", "000000", at("2001:db8:0:1::a\(host)")) } == wrong)
      }
      #expect(await refusal { try await component.login("other", "000000", at("2001:db8:0:1::b")) } == throttled)
      #expect(component.sessions.gate.failures(.wrong) == 30)
      #expect(component.sessions.gate.failures(.throttled) == 2)
    }
  }

  @Test func hundredFailuresLockUntilAdministratorSetsNewPin() async throws {
    let fixture = try Fixture()
    var device = ""
    try await fixture.run { component in
      let anna = try await component.makeMember("Anna", pin: "471147")
      device = try await component.login("Anna", "471147", at("192.0.2.1")).deviceToken
      #expect(device.hasPrefix("cad_") && device.utf8.count == LoginDeviceToken.sizeBytes)
      #expect(await component.guess("Anna", 60) == Array(repeating: wrong, count: 60))
      #expect(await component.lockedMemberCount() == 0)
      _ = anna
    }
    // Failures survive a restart.
    try await fixture.run { component in
      #expect(await component.guess("Anna", 40, network: "203.0.113") == Array(repeating: wrong, count: 40))
      // At other addresses, because the delays survive a restart as well.
      #expect(await component.guess("Anna", 5, network: "198.18.0") == Array(repeating: locked, count: 5))
      #expect(await refusal { try await component.login("Anna", "471147", at("192.0.2.1")) } == locked)
      #expect(await component.lockedMemberCount() == 1)
      #expect(component.loginFailures.map(\.total) == [40, 0, 6, 0])
      let entry = try await component.repository.auditRows(after: 0).last
      #expect(entry?.action == "member.lock" && entry?.subject == "m_1" && entry?.actor == "")
      #expect(try await component.verify().intact)
      // The member's own device logs in, but that does not lift the stop.
      let response = try await component.login("Anna", "471147", device: device, at("198.51.100.1"))
      #expect(response.deviceToken == device)
      #expect(await refusal { try await component.login("Anna", "471147", at("192.0.2.1")) } == locked)
    }
    try await fixture.run { component in
      #expect(await refusal { try await component.login("Anna", "471147", at("192.0.2.1")) } == locked)
      try await component.setPin(Member(id: "m_1"), "123987")
      #expect(await component.lockedMemberCount() == 0)
      _ = try await component.login("Anna", "123987", at("192.0.2.1"))
      #expect(await component.guess("Anna", 30) == Array(repeating: wrong, count: 30))
    }
  }

  @Test func throttleSurvivesRestart() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      _ = try await component.makeMember("Anna", pin: "471147")
      for _ in 0..<5 {
        #expect(await refusal { try await component.login("Anna", "000000", at("192.0.2.1")) } == wrong)
      }
    }
    try await fixture.run { component in
      #expect(await refusal { try await component.login("Anna", "471147", at("192.0.2.1")) } == throttled)
      _ = try await component.login("Anna", "471147", at("192.0.2.2"))
      fixture.clock.advance(by: .milliseconds(LoginThrottle.waitMinMs))
      _ = try await component.login("Anna", "471147", at("192.0.2.1"))
    }
  }

  /// On one database, the attempts at all processes count together.
  @Test(.enabled(if: TestStore.usesPostgreSQL)) func processesCountTogether() async throws {
    let fixture = try Fixture()
    let (first, second) = (try await fixture.open(), try await fixture.open())
    _ = try await first.makeMember("Anna", pin: "471147")
    for component in [first, second, first, second, first] {
      #expect(await refusal { try await component.login("Anna", "000000", at("192.0.2.1")) } == wrong)
    }
    for component in [first, second] {
      #expect(await refusal { try await component.login("Anna", "471147", at("192.0.2.1")) } == throttled)
    }
    await first.close()
    await second.close()
  }

  @Test func attemptsOfErasedMemberAreDeleted() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let anna = try await component.makeMember("Anna", pin: "471147")
      _ = try await component.login("Anna", "471147", at("192.0.2.1"))
      _ = await component.guess("Anna", 2)
      _ = try await component.members.eraseMember(.init(memberId: anna.id, confirmName: "Anna"), context: admin)
      let subjects = try component.store.readSingleBlocking {
        try $0.query("SELECT subject FROM login_attempts") { try $0.text(0) }
      }
      #expect(subjects == ["", ""])
    }
  }

  /// Unknown names cannot be distinguished from known ones: both are locked and stored alike.
  @Test func unknownNamesAreLockedAlike() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      _ = try await component.makeMember("Anna", pin: "471147")
      _ = try await component.makeMember("Pinless")
      for name in ["Anna", "Pinless", "Nobody 471147"] {
        let reasons = await component.guess(name, 101)
        #expect(reasons == Array(repeating: wrong, count: 100) + [locked], "\(name)")
      }
      #expect(await component.lockedMemberCount() == 2)
      let subjects = try component.store.readSingleBlocking {
        try $0.query("SELECT subject FROM login_records ORDER BY subject") { try $0.text(0) }
      }
      // Unknown names are stored as digests only, because some are PINs in the wrong field.
      #expect(subjects.count == 3 && subjects.contains("m_1") && subjects.contains("m_2"))
      #expect(!subjects.contains { $0.contains("471147") })
      // A new member with such a name starts without failures.
      _ = try await component.makeMember("Nobody 471147", pin: "471147")
      _ = try await component.login("Nobody 471147", "471147", at("192.0.2.1"))
    }
  }

  @Test func changingPinDoesNotLiftLock() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      _ = try await component.makeMember("Anna", pin: "471147")
      let login = try await component.login("Anna", "471147", at("192.0.2.1"))
      _ = await component.guess("Anna", 101)
      func change(_ old: String, _ new: String, device: String) async -> String {
        await refusal {
          try await component.sessions.changePin(
            .init(oldPin: old, newPin: new, deviceToken: device), context: session(login.sessionToken))
        }
      }
      #expect(await change("471147", "123987", device: "") == locked)
      #expect(await change("000000", "123987", device: login.deviceToken) == wrong)
      #expect(await change("471147", "123987", device: login.deviceToken) == "")
      #expect(await refusal { try await component.login("Anna", "123987", at("192.0.2.1")) } == locked)
      _ = try await component.login("Anna", "123987", device: login.deviceToken, at("192.0.2.1"))
    }
  }

  @Test func shortStoredPinsStayValidButNewPinsNeedSixCharacters() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let anna = try await component.makeMember("Anna")
      let stored = try PasswordHash("4711", cost: ScryptCost(costLog2: 1, blockSize: 1, parallelization: 1)).text
      try await component.repository.setPin(
        anna.number, hash: stored, by: AttendanceCaller(name: "user/root", role: .admin, address: ""))
      let token = try await component.login("Anna", "4711").sessionToken
      for pin in ["4711", "47114"] {
        let set = await failure { try await component.setPin(anna, pin) }
        #expect(set?.fieldViolations.map { "\($0.field) \($0.reason)" } == ["pin TOO_SHORT"])
        let changed = await failure {
          try await component.sessions.changePin(.init(oldPin: "4711", newPin: pin), context: session(token))
        }
        #expect(changed?.fieldViolations.map { "\($0.field) \($0.reason)" } == ["newPin TOO_SHORT"])
      }
      _ = try await component.sessions.changePin(.init(oldPin: "4711", newPin: "471147"), context: session(token))
      _ = try await component.login("Anna", "471147")
    }
  }

  @Test(.onSQLite) func migrationKeepsMembersAndPins() async throws {
    let fixture = try Fixture()
    var configuration = StoreConfiguration(path: fixture.folder.file("attendance.sqlite"))
    configuration.durability = .normal
    // A database from before the second migration.
    let store = try Store(configuration, migrations: Array(AttendanceMigrations.all.prefix(1)))
    let stored = try PasswordHash("4711", cost: ScryptCost(costLog2: 1, blockSize: 1, parallelization: 1)).text
    try await store.write { transaction in
      try transaction.execute(
        """
        INSERT INTO members (number, name, name_key, first_name, last_name, email, degree, office, is_active, role, has_pin,
          created_at_ms, updated_at_ms, version, sequence)
        VALUES (1, 'Anna', 'anna', '', '', '', 1, 0, 1, 1, 1, 0, 0, 1, 1)
        """)
      try transaction.execute(SessionTable.setPinSQL, [.integer(1), .text(stored), .integer(0)])
    }
    await store.close()
    try await fixture.run { component in
      let device = try await component.login("Anna", "4711").deviceToken
      _ = try await component.login("Anna", "4711", device: device, nobody)
    }
  }
}

@Suite struct DeviceTokenTests {
  @Test func deviceTokenIsValidOnlyForItsMember() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      _ = try await component.makeMember("Anna", pin: "471147")
      _ = try await component.makeMember("Bruno", pin: "471147")
      let device = try await component.login("Anna", "471147", at("192.0.2.1")).deviceToken
      _ = await component.guess("Bruno", 101)
      #expect(await refusal { try await component.login("Bruno", "471147", device: device, at("192.0.2.1")) } == locked)
      for other in ["cad_", "-", "cad_" + String(repeating: "A", count: 43), String(repeating: "x", count: 64)] {
        let answer = try await component.login("Anna", "471147", device: other, at("192.0.2.1"))
        #expect(answer.deviceToken.hasPrefix("cad_") && answer.deviceToken != other)
      }
      let long = String(repeating: "x", count: 65)
      let refused = await failure { try await component.login("Anna", "471147", device: long, at("192.0.2.1")) }
      #expect(refused?.fieldViolations.map { "\($0.field) \($0.reason)" } == ["deviceToken TOO_LONG"])
    }
  }

  @Test func failuresOnKnownDeviceCountSeparatelyAndRevokeIt() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      _ = try await component.makeMember("Anna", pin: "471147")
      let device = try await component.login("Anna", "471147", at("192.0.2.1")).deviceToken
      func attempt(_ pin: String) async -> String {
        await refusal { try await component.login("Anna", pin, device: device, at("192.0.2.1")) }
      }
      for _ in 0..<5 { #expect(await attempt("000000") == wrong) }
      #expect(await attempt("471147") == throttled)
      // Attempts from the same address without the token have no failures.
      _ = try await component.login("Anna", "471147", at("192.0.2.1"))
      for _ in 0..<5 {
        fixture.clock.advance(by: .milliseconds(Fixture.hourMs))
        #expect(await attempt("000000") == wrong)
      }
      _ = await component.guess("Anna", 101)
      fixture.clock.advance(by: .milliseconds(Fixture.hourMs))
      #expect(await attempt("471147") == locked)
    }
  }

  @Test func deviceTokensEndWithPinSessionsAndMembership() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let anna = try await component.makeMember("Anna", pin: "471147")
      func device() async throws -> String {
        let token = try await component.login("Anna", "471147", at("192.0.2.1")).deviceToken
        #expect(try await component.repository.deviceMember(#require(try LoginDeviceToken.hash(token))) == anna.number)
        return token
      }
      func isValid(_ token: String) async throws -> Bool {
        try await component.repository.deviceMember(#require(try LoginDeviceToken.hash(token))) != nil
      }
      let endings: [() async throws -> Void] = [
        { try await component.setPin(anna, "471147") },
        {
          _ = try await component.sessions.revokeSessions(.init(memberId: anna.id), context: admin)
        },
        {
          _ = try await component.members.deactivateMember(.init(memberId: anna.id), context: admin)
          _ = try await component.members.reactivateMember(.init(memberId: anna.id), context: admin)
        },
      ]
      for ending in endings {
        let token = try await device()
        try await ending()
        #expect(try await !isValid(token))
      }
      // Logging out leaves the device known.
      let login = try await component.login("Anna", "471147", at("192.0.2.1"))
      _ = try await component.sessions.logout(.init(), context: session(login.sessionToken))
      #expect(try await isValid(login.deviceToken))
      // Without a login the token expires and is deleted.
      fixture.clock.advance(by: .milliseconds(LoginDeviceToken.lifetimeMs))
      #expect(try await !isValid(login.deviceToken))
      _ = try await component.maintain(nowMs: fixture.clock.nowMs)
      #expect(try await component.repository.devices(of: anna.number).isEmpty)
    }
  }

  /// The PIN may be replaced while the former one is checked. The attempt then opens no session, and a revoked token
  /// stays revoked.
  @Test func loginFailsIfPinChangedDuringCheck() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let anna = try await component.makeMember("Anna", pin: "471147")
      let token = try await component.login("Anna", "471147").deviceToken
      let hash = try #require(try LoginDeviceToken.hash(token))
      var grant = LoginGrant(
        subject: LoginSubject(member: anna.number), origin: .device(hash), member: anna.number,
        pinHash: try await component.repository.pinHash(of: anna.number), sessionHash: [1], device: hash,
        isKnownDevice: true, address: "192.0.2.1")
      let former = grant.pinHash
      try await component.setPin(anna, "471147")
      func open(_ grant: LoginGrant) async -> String {
        await refusal { try await component.repository.openSession(grant, lifetime: SessionLifetime()) }
      }
      #expect(await open(grant) == wrong)
      let attempt = PinAttempt(subject: grant.subject, origin: .device(hash), address: "192.0.2.1")
      let caller = AttendanceCaller(name: anna.id, role: .member, memberNumber: anna.number, address: "192.0.2.1")
      #expect(
        await refusal {
          try await component.repository.changePin(from: former, to: "x", anna.number, attempt, by: caller)
        } == wrong)
      grant.pinHash = try await component.repository.pinHash(of: anna.number)
      #expect(await open(grant) == "")
      #expect(try await component.repository.deviceMember(hash) == nil)
    }
  }

  @Test func aMemberHasAtMostTwentyDevices() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let anna = try await component.makeMember("Anna", pin: "471147")
      var tokens: [String] = []
      for _ in 0..<21 {
        fixture.clock.advance(by: .milliseconds(1))
        tokens.append(try await component.login("Anna", "471147").deviceToken)
      }
      #expect(try await component.repository.devices(of: anna.number).count == 20)
      #expect(try await component.repository.deviceMember(#require(try LoginDeviceToken.hash(tokens[0]))) == nil)
      #expect(
        try await component.repository.deviceMember(#require(try LoginDeviceToken.hash(tokens[1]))) == anna.number)
    }
  }

  @Test func attemptsAreBoundedAndKeepTheLatest() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let nowMs = fixture.clock.nowMs
      try await component.store.write { transaction in
        for index in 0..<(AttemptTable.rowsMax + 700) {
          var throttle = LoginThrottle()
          // The first ones no longer matter.
          let lastMs = nowMs - (index < 100 ? 2 * LoginThrottle.ofOrigin.forgetMs : 10_000_000 - index)
          _ = throttle.begin(name: "n\(index)", from: .device([1]), nowMs: lastMs)
          if index >= 100 { throttle.succeeded(name: "n\(index)", from: .device([1]), nowMs: lastMs) }
          try AttemptTable.store(throttle, replacing: LoginThrottle(), in: transaction)
        }
      }
      _ = try await component.maintain(nowMs: nowMs)
      let left = try component.store.readSingleBlocking {
        try $0.query("SELECT count(*), min(last_ms) FROM login_attempts") { [try $0.integer(0), try $0.integer(1)] }
      }
      #expect(left == [[AttemptTable.rowsMax, nowMs - 10_000_000 + 700]])
    }
  }

  @Test func unknownNamesAreBounded() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let rows = LoginTable.unknownMax + 700
      try await component.store.write { transaction in
        for index in 0..<rows {
          var record = LoginRecord()
          record.lastMs = index
          // The first ones are locked.
          record.lockedAtMs = index < 10 ? 1 : 0
          let subject = try LoginSubject(nameKey: "n\(index)", member: nil)
          try transaction.execute(LoginTable.setSQL, LoginTable.values(record, of: subject))
        }
      }
      _ = try await component.maintain(nowMs: fixture.clock.nowMs)
      let left = try component.store.readSingleBlocking {
        try $0.query("SELECT locked_at_ms, count(*), min(last_ms) FROM login_records GROUP BY locked_at_ms") { row in
          [try row.integer(0), try row.integer(1), try row.integer(2)]
        }
      }
      #expect(left.sorted { $0[0] < $1[0] } == [[0, LoginTable.unknownMax - 10, 710], [1, 10, 0]])
    }
  }
}
