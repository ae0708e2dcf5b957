import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

/// Sends the background pushes that wake devices, at least once; the push service ignores repetitions.
struct WakeDispatcher: Sendable {
  static let batchMax = 64
  static let inFlightMax = 8
  static let retryMsMax: Int64 = 300_000
  /// A push that could not be sent for so long is given up.
  static let ageMaxMs: Int64 = 24 * 3_600_000
  private static let permanentCodes: [RPCError.Code] = [
    .invalidArgument, .permissionDenied, .failedPrecondition, .unimplemented,
  ]

  let store: Store
  let link: any DeviceWaking
  let awake: AwakeDevices
  let alarms: AlarmSchedule
  let nowMs: @Sendable () -> Int64
  let log: @Sendable (String) -> Void
  let events: @Sendable (SyncEvent) -> Void

  /// Runs until the task is cancelled.
  func run() async {
    await alarms.signal.runRounds(retryMs: 1_000) {
      alarms.plan(.max)
      if try await step() > 0 { return nil }
      let nextMs = try await store.readSingle { try $0.queryOne(WakeTable.nextSQL) { try $0.integer(0) } }
      alarms.plan(nextMs ?? .max)
      return AlarmSchedule.sleepMs(untilMs: nextMs, nowMs: nowMs())
    }
  }

  /// Wakes all due devices.
  ///
  /// - Returns: The number of due devices.
  func step() async throws -> Int {
    let due = try await store.read { transaction in
      try transaction.query(
        WakeTable.dueSQL, [.integer(nowMs()), .int(Self.batchMax)], WakeTable.pending)
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      var next = due.makeIterator()
      for _ in 0..<Self.inFlightMax {
        guard let wake = next.next() else { break }
        group.addTask { try await send(wake) }
      }
      while try await group.next() != nil {
        if let wake = next.next() { group.addTask { try await send(wake) } }
      }
    }
    return due.count
  }

  private func send(_ wake: PendingWake) async throws {
    guard try await !awake.contains(wake.device, user: wake.user) else {
      events(.wake(.awake))
      return try await settle(wake, isSent: false)
    }
    do {
      let response = try await link.wake(Self.push(wake))
      let isSent = !response.apnsIds.isEmpty || response.repeatedAlert
      events(.wake(isSent ? .sent : .withoutToken))
      try await settle(wake, isSent: isSent)
    } catch let error as RPCError {
      try Task.checkCancellation()
      let isPermanent = Self.permanentCodes.contains(error.code)
      log("cannot wake a device: \(error)")
      events(.wake(isPermanent ? .rejected : .failed))
      if isPermanent || nowMs() - wake.madeMs > Self.ageMaxMs { return try await settle(wake, isSent: false) }
      try await retry(wake)
    }
  }

  /// Returns the push: one without an alert, which the user does not see. A newer one replaces it on the device.
  static func push(_ wake: PendingWake) -> SendAlertRequest {
    var writer = JSONWriter(capacity: 256)
    writer.append(raw: "{\"zoneIds\":[")
    for (index, zone) in wake.zones.enumerated() {
      if index > 0 { writer.append(UInt8(ascii: ",")) }
      writer.string(zone)
    }
    writer.append(raw: "],\"sequence\":")
    writer.string(String(wake.sequence))
    writer.append(UInt8(ascii: "}"))
    return SendAlertRequest(
      userId: wake.user, alertId: "sync-\(wake.generation)-\(wake.madeMs)", app: wake.app,
      installationId: wake.installation, dataJson: writer.withUnsafeBytes { String(decoding: $0, as: UTF8.self) },
      collapseId: "sync")
  }

  /// Removes a wake. If something has changed in the meantime, schedules the device again within its budget.
  private func settle(_ wake: PendingWake, isSent: Bool) async throws {
    let nowMs = nowMs()
    let alarms = alarms
    try await store.write { transaction in
      let key: [SQLValue] = [.text(wake.user), .text(wake.device)]
      var spentMs = try transaction.queryOne(WakeTable.spentSQL, key) { try $0.integer(0) } ?? 0
      if isSent {
        spentMs = WakeBudget.spend(spentMs, nowMs: nowMs)
        try transaction.execute(WakeTable.spendSQL, key + [.integer(spentMs), .integer(nowMs)])
      }
      guard try transaction.executeCounting(WakeTable.doneSQL, key + [.integer(wake.generation)]) == 0 else { return }
      let dueMs = WakeBudget.dueMs(spentMs: spentMs, nowMs: nowMs)
      try transaction.execute(WakeTable.againSQL, key + [.integer(dueMs), 0])
      alarms.scheduled(dueMs)
    }
  }

  /// Schedules a failed push again, after a delay that doubles.
  private func retry(_ wake: PendingWake) async throws {
    let attempts = wake.attempts + 1
    let dueMs = nowMs() + min(500 << min(attempts, 10), Self.retryMsMax)
    let alarms = alarms
    try await store.write { transaction in
      try transaction.execute(
        WakeTable.againSQL, [.text(wake.user), .text(wake.device), .integer(dueMs), .integer(attempts)])
      alarms.scheduled(dueMs)
    }
  }
}
