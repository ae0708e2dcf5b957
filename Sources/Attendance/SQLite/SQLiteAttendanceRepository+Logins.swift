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

  func countAttempt(of subject: LoginSubject, device: [UInt8]?, address: String) async throws -> Bool {
    // A locked record needs no write for each further attempt.
    let known = try await readSingle { try $0.queryOne(LoginTable.oneSQL, [.text(subject.key)], LoginTable.record) }
    if device == nil, known?.isLocked == true { return false }
    return try await change(by: AttendanceCaller(name: "", role: .unspecified, address: address)) { context in
      if let device,
        try context.transaction.executeCounting(
          DeviceTable.countFailureSQL, [.blob(device), .integer(LoginDeviceToken.failuresMax)]) > 0
      {
        return true
      }
      var record = try context.loginRecord(subject)
      if record.isLocked { return false }
      let mayGoOn = record.begin(nowMs: context.nowMs)
      try context.transaction.execute(LoginTable.setSQL, LoginTable.values(record, of: subject))
      if record.isLocked, subject.member != nil { try context.audit("member.lock", subject.key, old: nil, new: nil) }
      return mayGoOn
    }
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
    try transaction.execute(LoginTable.dropSQL, [.text(AttendanceIDs.memberID(member))])
  }
}
