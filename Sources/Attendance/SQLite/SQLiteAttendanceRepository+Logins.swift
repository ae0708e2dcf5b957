import CampanileAPI
import CampanileRPC
import CampanileService
import CampanileStore

extension SQLiteAttendanceRepository {
  func deviceMember(_ tokenHash: [UInt8]) async throws -> Int64? {
    try await readSingle { transaction in
      try transaction.queryOne(
        DeviceTable.memberSQL,
        [.blob(tokenHash), .integer(clockMs() - LoginDeviceToken.lifetimeMs), .integer(LoginDeviceToken.failuresMax)]
      ) { try $0.integer(0) }
    }
  }

  func countAttempt(_ attempt: PinAttempt, checksPIN: Bool) async throws -> AttemptVerdict {
    // A refused attempt needs no write.
    let nowMs = clockMs()
    let refusal = try await read { try Self.refusal(of: attempt, checksPIN: checksPIN, nowMs: nowMs, in: $0) }
    if let refusal { return refusal }
    let caller = AttendanceCaller(name: "", role: .unspecified, address: attempt.address)
    return try await change(by: caller) { context in
      let nowMs = context.nowMs
      if let refusal = try Self.refusal(of: attempt, checksPIN: checksPIN, nowMs: nowMs, in: context.transaction) {
        return refusal
      }
      if checksPIN, try !context.countFailure(attempt) { return .locked }
      try context.changeThrottle(attempt.subject, attempt.origin) {
        _ = $0.begin(name: attempt.subject.key, from: attempt.origin, nowMs: nowMs)
      }
      return .proceeds
    }
  }

  /// Returns the reason for which an attempt may not proceed; nil if there is none.
  private static func refusal(
    of attempt: PinAttempt, checksPIN: Bool, nowMs: Int64, in transaction: ReadTransaction
  ) throws -> AttemptVerdict? {
    let key = attempt.subject.key
    if checksPIN, attempt.device == nil,
      try transaction.queryOne(LoginTable.oneSQL, [.text(key)], LoginTable.record)?.isLocked == true
    {
      return .locked
    }
    return try AttemptTable.throttle(name: key, attempt.origin, in: transaction)
      .waitMs(name: key, from: attempt.origin, nowMs: nowMs).map { .throttled(waitMs: $0) }
  }

  func withdrawAttempt(_ attempt: PinAttempt) async throws {
    try await change(by: AttendanceCaller(name: "", role: .unspecified, address: attempt.address)) { context in
      try context.changeThrottle(attempt.subject, attempt.origin) {
        $0.withdraw(name: attempt.subject.key, from: attempt.origin)
      }
    }
  }

  func isKnown(_ attempt: PinAttempt) async throws -> Bool {
    try await readSingle { try AttemptTable.throttle(name: attempt.subject.key, attempt.origin, in: $0) }
      .isKnown(name: attempt.subject.key, from: attempt.origin, nowMs: clockMs())
  }

  func lockedMemberCount() async throws -> Int {
    try await readSingle { try $0.queryOne(LoginTable.lockedSQL) { Int(try $0.integer(0)) } ?? 0 }
  }

  func devices(of member: Int64) async throws -> [LoginDevice] {
    try await readSingle {
      try $0.query(
        DeviceTable.ofMemberSQL, [.integer(member), .int(LoginDeviceToken.perMemberMax)], DeviceTable.device)
    }
  }
}

extension WriteContext {
  func loginRecord(_ subject: LoginSubject) throws -> LoginRecord {
    try transaction.queryOne(LoginTable.oneSQL, [.text(subject.key)], LoginTable.record) ?? LoginRecord()
  }

  /// Counts an attempt before its PIN is checked: for the device if it has a valid token, otherwise for the name.
  ///
  /// - Returns: False if the name is locked, from now on or before.
  func countFailure(_ attempt: PinAttempt) throws -> Bool {
    if let device = attempt.device,
      try transaction.executeCounting(
        DeviceTable.countFailureSQL, [.blob(device), .integer(LoginDeviceToken.failuresMax)]) > 0
    {
      return true
    }
    let subject = attempt.subject
    var record = try loginRecord(subject)
    if record.isLocked { return false }
    let mayGoOn = record.begin(nowMs: nowMs)
    try transaction.execute(LoginTable.setSQL, LoginTable.values(record, of: subject))
    if record.isLocked, subject.member != nil { try audit("member.lock", subject.key, old: nil, new: nil) }
    return mayGoOn
  }

  /// Changes the throttle's entries of a subject at an origin.
  func changeThrottle(
    _ subject: LoginSubject, _ origin: LoginOrigin, _ body: (inout LoginThrottle) -> Void
  ) throws {
    let earlier = try AttemptTable.throttle(name: subject.key, origin, in: transaction)
    var throttle = earlier
    body(&throttle)
    try AttemptTable.store(throttle, replacing: earlier, in: transaction)
  }

  /// Withdraws a successful attempt from the throttle, and makes its origin known.
  func attemptSucceeded(_ subject: LoginSubject, from origin: LoginOrigin) throws {
    try changeThrottle(subject, origin) { $0.succeeded(name: subject.key, from: origin, nowMs: nowMs) }
  }

  /// Resets the consecutive failures after a correct PIN.
  func loginSucceeded(_ subject: LoginSubject, isCounted: Bool) throws {
    let found = try transaction.queryOne(LoginTable.oneSQL, [.text(subject.key)], LoginTable.record)
    guard var record = found else { return }
    record.succeeded(isCounted: isCounted)
    guard record != found else { return }
    try transaction.execute(LoginTable.setSQL, LoginTable.values(record, of: subject))
  }

  func pinHash(of member: Int64) throws -> String? {
    try transaction.queryOne(SessionTable.pinSQL, [.integer(member)]) { try $0.text(0) }
  }

  /// Renews a device's token. Has no effect on a token that was revoked in the meantime.
  func renew(_ device: [UInt8]) throws {
    try transaction.execute(DeviceTable.renewSQL, [.blob(device), .integer(nowMs)])
  }

  /// Adds a device's token. If the member has too many, removes the one with the oldest login.
  func add(_ device: [UInt8], of member: Int64) throws {
    try transaction.execute(DeviceTable.insertSQL, [.blob(device), .integer(member), .integer(nowMs)])
    try transaction.execute(DeviceTable.surplusSQL, [.integer(member), .int(LoginDeviceToken.perMemberMax)])
  }

  /// Deletes a member's failures and thereby lifts the hard stop.
  func unlock(_ member: Int64) throws {
    let key = SQLValue.text(AttendanceIDs.memberID(member))
    try transaction.execute(LoginTable.dropSQL, [key])
    try transaction.execute(AttemptTable.dropSubjectSQL, [key])
  }
}
