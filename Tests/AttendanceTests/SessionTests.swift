import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileCrypto
import CampanileRPC
import ServiceTesting
import TestSupport
import Testing

@testable import Attendance

@Suite struct SessionTests {
  @Test func loginRenewalAndLogout() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let anna = try await component.makeMember("Anna Rossi", pin: "471147")
      let login = try await component.login(" anna  ROSSI ", "471147")
      #expect(login.member?.id == anna.id)
      #expect(login.sessionToken.hasPrefix("cas_"))
      #expect(login.sessionToken.utf8.count == SessionToken.sizeBytes)
      let context = session(login.sessionToken)
      func me() async throws -> GetCurrentMemberResponse {
        try await component.sessions.getCurrentMember(.init(), context: context)
      }
      fixture.clock.advance(by: .milliseconds(7 * Fixture.hourMs))
      let renewed = try await me()
      #expect(renewed.member?.id == anna.id)
      #expect(renewed.session?.expireTime?.millisecondsSince1970 == fixture.clock.nowMs + 8 * Fixture.hourMs)
      fixture.clock.advance(by: .milliseconds(8 * Fixture.hourMs - 1))
      _ = try await me()
      fixture.clock.advance(by: .milliseconds(8 * Fixture.hourMs))
      #expect(await refusal { try await me() } == "UNAUTHENTICATED SESSION_EXPIRED")
      let again = session(try await component.login("Anna Rossi", "471147").sessionToken)
      _ = try await component.sessions.logout(.init(), context: again)
      #expect(
        await refusal { try await component.sessions.getCurrentMember(.init(), context: again) }
          == "UNAUTHENTICATED SESSION_INVALID")
    }
  }

  @Test func renewalsDoNotExtendTheSessionEnd() async throws {
    var lifetime = SessionLifetime()
    lifetime.absoluteMs = 20 * Fixture.hourMs
    let fixture = try Fixture(lifetime: lifetime)
    try await fixture.run { component in
      _ = try await component.makeMember("Anna", pin: "471147")
      let context = session(try await component.login("Anna", "471147").sessionToken)
      let endMs = fixture.clock.nowMs + lifetime.absoluteMs
      for _ in 0..<3 {
        fixture.clock.advance(by: .milliseconds(6 * Fixture.hourMs))
        let expires = try await component.sessions.getCurrentMember(.init(), context: context).session?.expireTime
        #expect(try #require(expires).millisecondsSince1970 <= endMs)
      }
      fixture.clock.advance(by: .milliseconds(2 * Fixture.hourMs))
      #expect(
        await refusal { try await component.sessions.getCurrentMember(.init(), context: context) }
          == "UNAUTHENTICATED SESSION_EXPIRED")
    }
  }

  /// Creates Anna, Pinless, and Gone, who is deactivated.
  private func makeMembers(_ component: AttendanceComponent) async throws {
    _ = try await component.makeMember("Anna", pin: "471147")
    _ = try await component.makeMember("Pinless")
    let gone = try await component.makeMember("Gone", pin: "471147")
    _ = try await component.members.deactivateMember(.init(memberId: gone.id), context: admin)
  }

  /// All wrong credentials get the same error.
  @Test func wrongCredentialsLookAlike() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      try await makeMembers(component)
      var errors: [RPCError] = []
      for (name, pin) in [("Anna", "081508"), ("Nobody", "471147"), ("Gone", "471147"), ("Pinless", ""), ("Anna", "")] {
        errors.append(try #require(await failure { try await component.login(name, pin) }))
      }
      #expect(Set(errors).count == 1)
      #expect(errors[0].reason == "CREDENTIALS_INVALID")
      #expect(errors[0].code == .unauthenticated)
    }
  }

  /// Each attempt derives exactly one key, so that its duration reveals nothing.
  @Test func unknownNamesCostAsMuchAsWrongPins() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      try await makeMembers(component)
      let attempts = [
        ("Anna", "081508"), ("Anna", "471147"), ("Nobody", "471147"), ("Gone", "471147"), ("Pinless", "123456"),
      ]
      for (name, pin) in attempts {
        let before = component.sessions.gate.hasher.derivationCount
        _ = await failure { try await component.login(name, pin) }
        #expect(component.sessions.gate.hasher.derivationCount == before + 1, "\(name)")
      }
    }
  }

  /// Attempts without a check neither lock a member out nor displace the failures of others.
  @Test func attemptsWithoutAPlaceDoNotCount() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      _ = try await component.makeMember("Anna", pin: "471147")
      let sessions = component.sessions
      var slots = PinSlots()
      slots.ordinaryMax = 0
      let hasher = try PinHasher(cost: ScryptCost(costLog2: 1, blockSize: 1, parallelization: 1), slots: slots)
      let busy = SessionsService(
        repository: sessions.repository, access: sessions.access, limits: sessions.limits, lifetime: sessions.lifetime,
        gate: LoginGate(repository: sessions.repository, hasher: hasher, state: sessions.gate.state))
      let from = CallContext(method: anyMethod, remoteAddress: "[IPv4]192.0.2.1/192.0.2.1:5000")
      for attempt in 0..<40 {
        let request = LoginRequest(name: "Anna", pin: attempt % 2 == 0 ? "471147" : "")
        let error = await failure { try await busy.login(request, context: from) }
        #expect(error?.reason == "LOGIN_BUSY")
        #expect(error?.retryAfterMs != nil)
      }
      #expect(sessions.gate.failures(.busy) == 40)
      // Strangers cannot use places of known members, who have a device token or logged in from the same address.
      let elsewhere = CallContext(method: anyMethod, remoteAddress: "[IPv4]192.0.2.2/192.0.2.2:5000")
      let login = try await component.login("Anna", "471147", elsewhere)
      _ = try await busy.login(.init(name: "Anna", pin: "471147", deviceToken: login.deviceToken), context: from)
      _ = try await busy.login(.init(name: "Anna", pin: "471147"), context: elsewhere)
      _ = try await component.login("Anna", "471147", from)
    }
  }

  @Test func attemptsAreThrottledByNameAndByAddress() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      _ = try await component.makeMember("Anna", pin: "471147")
      let from = CallContext(method: anyMethod, remoteAddress: "[IPv4]192.0.2.1/192.0.2.1:5000")
      for _ in 0..<5 {
        #expect(await failure { try await component.login("Anna", "000000", from) }?.reason == "CREDENTIALS_INVALID")
      }
      let refused = await failure { try await component.login("anna", "471147", from) }
      #expect(refused?.reason == "LOGIN_THROTTLED")
      #expect(refused?.code == .resourceExhausted)
      #expect(refused?.retryAfterMs == 30_000)
      for index in 0..<25 { _ = await failure { try await component.login("nobody \(index)", "000000", from) } }
      #expect(await failure { try await component.login("fresh", "000000", from) }?.reason == "LOGIN_THROTTLED")
      // Another port is still the same address; another address is not.
      let port = CallContext(method: anyMethod, remoteAddress: "[IPv4]192.0.2.1/192.0.2.1:5001")
      #expect(await failure { try await component.login("fresh", "000000", port) }?.reason == "LOGIN_THROTTLED")
      let other = CallContext(method: anyMethod, remoteAddress: "[IPv4]192.0.2.2/192.0.2.2:5000")
      #expect(await failure { try await component.login("fresh", "000000", other) }?.reason == "CREDENTIALS_INVALID")
      fixture.clock.advance(by: .milliseconds(15 * 60 * 1_000))
      _ = try await component.login("Anna", "471147", from)
    }
  }

  @Test func nameOnlyLoginNeedsConfiguration() async throws {
    var lifetime = SessionLifetime()
    lifetime.allowsNameOnly = true
    let fixture = try Fixture(lifetime: lifetime)
    try await fixture.run { component in
      _ = try await component.makeMember("Anna", pin: "471147")
      let pinless = try await component.makeMember("Pinless")
      #expect(try await component.login("Pinless", "").member?.id == pinless.id)
      // A member with a PIN needs it.
      #expect(await refusal { try await component.login("Anna", "") } == "UNAUTHENTICATED CREDENTIALS_INVALID")
    }
  }

  @Test func sessionsEndOnPinChangeDeactivationAndRevocation() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let anna = try await component.makeMember("Anna", pin: "471147")
      func open(_ pin: String = "471147") async throws -> CallContext {
        session(try await component.login("Anna", pin).sessionToken)
      }
      func isOpen(_ context: CallContext) async -> Bool {
        await failure { try await component.members.getMember(.init(memberId: anna.id), context: context) }
          == nil
      }
      let (one, two) = (try await open(), try await open())
      #expect(try await component.sessions.listSessions(.init(memberId: anna.id), context: one).sessions.count == 2)
      _ = try await component.sessions.changePin(.init(oldPin: "471147", newPin: "081508"), context: one)
      #expect(await isOpen(one))
      #expect(await !isOpen(two))
      #expect(
        await refusal {
          try await component.sessions.changePin(.init(oldPin: "471147", newPin: "999999"), context: one)
        } == "UNAUTHENTICATED CREDENTIALS_INVALID")
      #expect(try await component.sessions.revokeSessions(.init(), context: one).revokedCount == 1)
      #expect(await !isOpen(one))
      let three = try await open("081508")
      _ = try await component.members.deactivateMember(.init(memberId: anna.id), context: admin)
      #expect(await !isOpen(three))
      _ = try await component.members.reactivateMember(.init(memberId: anna.id), context: admin)
      #expect(await !isOpen(three))
      #expect(await isOpen(try await open("081508")))
    }
  }

  @Test func aMemberHasAtMostTwentySessions() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let anna = try await component.makeMember("Anna", pin: "471147")
      let first = session(try await component.login("Anna", "471147").sessionToken)
      for _ in 0..<20 {
        fixture.clock.advance(by: .milliseconds(1))
        _ = try await component.login("Anna", "471147")
      }
      #expect(
        await refusal { try await component.sessions.getCurrentMember(.init(), context: first) }
          == "UNAUTHENTICATED SESSION_INVALID")
      var request = ListSessionsRequest(memberId: anna.id, pageSize: 8)
      var sessions: [MemberSession] = []
      repeat {
        let page = try await component.sessions.listSessions(request, context: admin)
        sessions += page.sessions
        request.pageToken = page.nextPageToken
      } while !request.pageToken.isEmpty
      #expect(sessions.count == 20)
      // Newest first.
      #expect(sessions.map(\.id) == Set(sessions.map(\.id)).sorted(by: >))
      let token = try await component.sessions.listSessions(.init(memberId: anna.id, pageSize: 8), context: admin)
        .nextPageToken
      let other = try await component.makeMember("Bruno")
      #expect(
        await refusal {
          try await component.sessions.listSessions(.init(memberId: other.id, pageToken: token), context: admin)
        } == "INVALID_ARGUMENT PAGE_TOKEN_INVALID")
    }
  }

  /// A repeated request spares the sessions that were opened in the meantime.
  @Test func repeatedRevocationEndsNothing() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let anna = try await component.makeMember("Anna", user: "anna", pin: "471147")
      _ = try await component.login("Anna", "471147")
      let request = RevokeSessionsRequest(memberId: anna.id, requestId: "v1")
      let first = try await component.sessions.revokeSessions(request, context: user("anna"))
      #expect(first.revokedCount == 1)
      let later = session(try await component.login("Anna", "471147").sessionToken)
      #expect(try await component.sessions.revokeSessions(request, context: user("anna")) == first)
      _ = try await component.sessions.getCurrentMember(.init(), context: later)
      #expect(try await component.sessions.revokeSessions(.init(), context: user("anna")).revokedCount == 1)
    }
  }

  @Test func pinsHaveSixToSixtyFourCharacters() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let anna = try await component.makeMember("Anna", user: "anna", pin: "471147")
      let cases = [
        ("", "REQUIRED"), ("12345", "TOO_SHORT"), (String(repeating: "1", count: 65), "TOO_LONG"),
        ("12345\u{0}", "TEXT_INVALID"),
      ]
      for (pin, reason) in cases {
        #expect(
          await refusal { try await component.members.setMemberPin(.init(memberId: anna.id, pin: pin), context: admin) }
            == "INVALID_ARGUMENT \(reason)")
        #expect(
          await refusal {
            try await component.sessions.changePin(.init(oldPin: "471147", newPin: pin), context: user("anna"))
          } == "INVALID_ARGUMENT \(reason)")
      }
      for request in [
        LoginRequest(pin: "471147"), LoginRequest(name: "Anna", pin: String(repeating: "1", count: 65)),
        LoginRequest(name: "Anna", pin: "471147", deviceToken: String(repeating: "d", count: 65)),
      ] {
        #expect(
          await failure { try await component.sessions.login(request, context: nobody) }?.code == .invalidArgument)
      }
      // Invalid requests do not count as failures.
      _ = try await component.login("Anna", "471147")
    }
  }

  @Test func removedPinNoLongerLogsIn() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let anna = try await component.makeMember("Anna", pin: "471147")
      let own = session(try await component.login("Anna", "471147").sessionToken)
      #expect(
        await refusal { try await component.members.removeMemberPin(.init(memberId: "m_9"), context: admin) }
          == "NOT_FOUND MEMBER_NOT_FOUND")
      for _ in 0..<2 { _ = try await component.members.removeMemberPin(.init(memberId: anna.id), context: admin) }
      let found = try await component.members.getMember(.init(memberId: anna.id), context: admin).member
      #expect(found?.hasPin == false)
      #expect(
        await refusal { try await component.sessions.getCurrentMember(.init(), context: own) }
          == "UNAUTHENTICATED SESSION_INVALID")
      for pin in ["471147", ""] {
        #expect(await refusal { try await component.login("Anna", pin) } == "UNAUTHENTICATED CREDENTIALS_INVALID")
      }
    }
  }

  @Test(arguments: [
    "", "cas_", "cas_AAAA", "cmp_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", String(repeating: "x", count: 8_000),
  ])
  func malformedTokensAreInvalid(_ token: String) async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      #expect(
        await refusal { try await component.sessions.getCurrentMember(.init(), context: session(token)) }
          == "UNAUTHENTICATED SESSION_INVALID")
    }
  }

  @Test func principalIdentifiesCallerWithoutSession() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let anna = try await component.makeMember("Anna", user: "anna")
      let me = try await component.sessions.getCurrentMember(.init(), context: user("anna"))
      #expect(me.member?.id == anna.id)
      #expect(me.session == nil)
      #expect(
        await refusal { try await component.sessions.getCurrentMember(.init(), context: user("eve")) }
          == "PERMISSION_DENIED MEMBER_UNKNOWN")
      #expect(
        await refusal { try await component.sessions.getCurrentMember(.init(), context: nobody) }
          == "UNAUTHENTICATED PRINCIPAL_MISSING")
      #expect(
        await refusal { try await component.sessions.getCurrentMember(.init(), context: admin) }
          == "PERMISSION_DENIED MEMBER_UNKNOWN")
    }
  }

  @Test func hostDropsThePort() {
    #expect(AccessControl.host("[IPv4]127.0.0.1/127.0.0.1:5000") == "127.0.0.1")
    #expect(AccessControl.host("[IPv6]::1/::1:5000") == "::1")
    #expect(AccessControl.host("") == "")
  }
}
