import Testing

@testable import Attendance

/// A mutable throttle for use in expectations.
private final class Box {
  var value = LoginThrottle()
  let here = LoginOrigin.address("192.0.2.1")

  func begin(_ name: String = "anna", _ origin: LoginOrigin? = nil, nowMs: Int64) -> Int64? {
    value.begin(name: name, from: origin ?? here, nowMs: nowMs)
  }
}

@Suite struct LoginThrottleTests {
  private static let hourMs: Int64 = 3_600_000

  @Test func waitDoublesUpToAnHour() {
    let throttle = Box()
    for _ in 0..<5 { #expect(throttle.begin(nowMs: 0) == nil) }
    var now: Int64 = 0
    for waitMs: Int64 in [30_000, 60_000, 120_000, 240_000, 480_000, 960_000, 1_920_000, 3_600_000, 3_600_000] {
      #expect(throttle.begin(nowMs: now) == waitMs)
      // A rejected attempt neither counts nor prolongs the wait.
      #expect(throttle.begin(nowMs: now + waitMs - 1) == 1)
      now += waitMs
      #expect(throttle.begin(nowMs: now) == nil)
    }
  }

  @Test func oneFailureIsForgottenEveryHour() {
    let throttle = Box()
    for _ in 0..<5 { _ = throttle.begin(nowMs: 0) }
    #expect(throttle.begin(nowMs: Self.hourMs) == nil)
    #expect(throttle.begin(nowMs: Self.hourMs) == 30_000)
    for _ in 0..<5 { #expect(throttle.begin(nowMs: 10 * Self.hourMs) == nil) }
  }

  @Test func failuresElsewhereDelayNoOtherOrigin() {
    let throttle = Box()
    for group in 0..<1_000 {
      for _ in 0..<5 { _ = throttle.begin("anna", .address("2001:db8:\(group)::/64"), nowMs: 0) }
    }
    #expect(throttle.begin(nowMs: 1) == nil)
    #expect(throttle.begin("anna", .device([1]), nowMs: 1) == nil)
    #expect(throttle.begin("anna", .principal("service/kiosk"), nowMs: 1) == nil)
  }

  @Test func nameUnderAttackAllowsOneFreeFailurePerAddress() {
    let throttle = Box()
    for group in 0..<20 { _ = throttle.begin("anna", .address("a\(group)"), nowMs: 0) }
    #expect(throttle.begin(nowMs: 1) == nil)
    #expect(throttle.begin(nowMs: 1) == 30_000)
    // Known devices and other names keep their usual limits.
    for _ in 0..<5 { #expect(throttle.begin("anna", .device([1]), nowMs: 1) == nil) }
    #expect(throttle.begin("anna", .device([1]), nowMs: 1) == 30_000)
    for _ in 0..<5 { #expect(throttle.begin("bruno", nowMs: 1) == nil) }
    // The attack is over 100 minutes later.
    for _ in 0..<5 { #expect(throttle.begin("anna", .address("b"), nowMs: 6_000_001) == nil) }
  }

  @Test func successResetsOnlyFailuresOfItsOrigin() {
    let throttle = Box()
    for origin in [throttle.here, .address("b")] {
      for _ in 0..<5 { #expect(throttle.begin("anna", origin, nowMs: 0) == nil) }
    }
    throttle.value.succeeded(name: "anna", from: throttle.here, nowMs: 1)
    for _ in 0..<5 { #expect(throttle.begin(nowMs: 2) == nil) }
    #expect(throttle.begin(nowMs: 2) != nil)
    #expect(throttle.begin("anna", .address("b"), nowMs: 2) != nil)
  }

  @Test func addressIsThrottledAcrossNamesExceptKnownDevices() {
    let throttle = Box()
    for index in 0..<30 { #expect(throttle.begin("n\(index)", nowMs: 0) == nil) }
    #expect(throttle.begin("new", nowMs: 1) == 29_999)
    #expect(throttle.begin("new", .address("b"), nowMs: 1) == nil)
    #expect(throttle.begin("new", .device([1]), nowMs: 1) == nil)
    // One failure is forgotten every 30 seconds.
    #expect(throttle.begin("new", nowMs: 30_000) == nil)
    #expect(throttle.begin("newer", nowMs: 30_000) == 30_000)
  }

  @Test func successRemovesItsAttemptFromTheAddressCount() {
    let throttle = Box()
    for index in 0..<100 {
      #expect(throttle.begin("n\(index)", nowMs: 0) == nil)
      throttle.value.succeeded(name: "n\(index)", from: throttle.here, nowMs: 0)
    }
    #expect(throttle.value.isKnown(name: "n1", from: throttle.here, nowMs: LoginThrottle.successMs - 1))
    #expect(!throttle.value.isKnown(name: "n1", from: throttle.here, nowMs: LoginThrottle.successMs))
    #expect(!throttle.value.isKnown(name: "n1", from: .address("b"), nowMs: 1))
  }

  @Test func withdrawnAttemptsLeaveNoEntries() {
    let throttle = Box()
    for _ in 0..<100 {
      #expect(throttle.begin(nowMs: 0) == nil)
      throttle.value.withdraw(name: "anna", from: throttle.here)
    }
    #expect(throttle.value.entries.isEmpty)
  }

  /// Until its end, an entry can delay an attempt or make its origin known; afterwards it cannot.
  @Test func entriesEndWhenTheyNoLongerMatter() {
    let throttle = Box()
    let (pair, address) = (LoginThrottle.Key.pair(name: "anna", throttle.here), LoginThrottle.Key.address("192.0.2.1"))
    _ = throttle.begin(nowMs: 0)
    #expect(throttle.value.endMs(of: pair) == Self.hourMs)
    #expect(throttle.value.endMs(of: address) == 30_000)
    #expect(throttle.value.endMs(of: .name("bruno")) == nil)
    for (nowMs, free) in [(Self.hourMs - 1, 4), (Self.hourMs, 5)] {
      let later = Box()
      later.value = throttle.value
      for _ in 0..<free { #expect(later.begin(nowMs: nowMs) == nil) }
      #expect(later.begin(nowMs: nowMs) == 30_000)
      #expect(later.value.endMs(of: pair) == nowMs + 5 * Self.hourMs)
    }
    throttle.value.succeeded(name: "anna", from: throttle.here, nowMs: 7)
    #expect(throttle.value.endMs(of: pair) == 7 + LoginThrottle.successMs)
  }

  @Test func clockSetBackDoesNotDelayLogins() {
    let throttle = Box()
    for _ in 0..<5 { _ = throttle.begin(nowMs: 1_000_000) }
    #expect(throttle.begin(nowMs: 0) == nil)
  }
}

@Suite struct LoginRecordTests {
  private static let dayMs: Int64 = 24 * 3_600_000

  @Test func recordLocksAfterHundredConsecutiveFailures() {
    var record = LoginRecord()
    for _ in 0..<100 {
      let mayGoOn = record.begin(nowMs: 7)
      #expect(mayGoOn && !record.isLocked)
    }
    let mayGoOn = record.begin(nowMs: 8)
    #expect(!mayGoOn && record.lockedAtMs == 8)
    // The stop does not expire.
    let later = record.begin(nowMs: 9 + 10 * LoginRecord.windowMs)
    #expect(!later)
  }

  @Test func slowFailuresCountAsConsecutive() {
    var record = LoginRecord()
    for week: Int64 in 0..<100 { _ = record.begin(nowMs: week * 7 * Self.dayMs) }
    let mayGoOn = record.begin(nowMs: 701 * Self.dayMs)
    #expect(!mayGoOn)
  }

  /// A member's daily login gives an attacker no further attempts: 300 are allowed within 90 days.
  @Test(arguments: [true, false]) func successesDoNotGrantMoreAttempts(isCounted: Bool) {
    var record = LoginRecord()
    var judged = 0
    for day: Int64 in 0..<89 {
      for _ in 0..<99 where record.begin(nowMs: day * Self.dayMs) { judged += 1 }
      if isCounted { _ = record.begin(nowMs: day * Self.dayMs) }
      record.succeeded(isCounted: isCounted)
    }
    #expect(judged == 300 && record.isLocked)
  }

  @Test func successResetsConsecutiveFailuresAndRemovesItself() {
    var record = LoginRecord()
    for _ in 0..<1_000 {
      let mayGoOn = record.begin(nowMs: 1)
      #expect(mayGoOn)
      record.succeeded(isCounted: true)
    }
    #expect(record.total == 0 && record.inRow == 0)
  }

  @Test func windowRestartsAfterItsDuration() {
    var record = LoginRecord()
    for round: Int64 in 0..<4 {
      for _ in 0..<99 { _ = record.begin(nowMs: round * LoginRecord.windowMs) }
      record.succeeded(isCounted: false)
    }
    #expect(!record.isLocked && record.total == 99)
  }
}

@Suite struct PinSlotsTests {
  @Test func oneHolderCannotOccupyAllPlaces() {
    var slots = PinSlots()
    let group = PinSlot(holder: "2001:db8::/64", isReserved: false)
    let taken = (0..<100).count { _ in slots.take(group) }
    #expect(taken == 8)
    let member = PinSlot(holder: "m_1", isReserved: true)
    #expect((0..<100).count { _ in slots.take(member) } == 2)
    let elsewhere = slots.take(PinSlot(holder: "192.0.2.1", isReserved: false))
    #expect(elsewhere)
  }

  @Test func strangersCannotUseReservedPlaces() {
    var slots = PinSlots()
    let strangers = (0..<100).count { slots.take(PinSlot(holder: "g\($0)", isReserved: false)) }
    #expect(strangers == 32)
    let known = (0..<100).count { slots.take(PinSlot(holder: "m_\($0)", isReserved: true)) }
    #expect(known == 16)
    slots.release(PinSlot(holder: "m_3", isReserved: true))
    // Releasing a place that was not taken frees nothing.
    slots.release(PinSlot(holder: "m_99", isReserved: true))
    let again = (0..<100).count { slots.take(PinSlot(holder: "n_\($0)", isReserved: true)) }
    #expect(again == 1)
  }
}
