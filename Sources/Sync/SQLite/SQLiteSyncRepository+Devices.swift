import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

extension SQLiteSyncRepository {
  func registerDevice(_ device: SyncDevice, user: String) async throws -> SyncDevice {
    try await storeWrite { transaction in
      let key: [SQLValue] = [.text(user), .text(device.id)]
      if var found = try transaction.queryOne(DeviceRow.oneSQL, key, DeviceRow.device) {
        guard found.role == device.role else {
          throw RPCError.refused("device.role", "cannot be changed; unregister the device first", .roleFixed)
        }
        try transaction.execute(DeviceRow.renameSQL, key + [.text(device.displayName)])
        found.displayName = device.displayName
        return found
      }
      var counters = try transaction.syncUser(user)
      guard counters.deviceCount < Int64(limits.devicesPerUserMax) else {
        throw RPCError.exhausted(
          "a user may have \(limits.devicesPerUserMax) devices", .devicesExhausted, limit: limits.devicesPerUserMax)
      }
      var made = device
      let nowMs = clockMs()
      made.createTime = ProtoTimestamp(millisecondsSince1970: nowMs)
      // The device receives only later messages.
      made.acknowledgedSequence = counters.messageSequence
      try transaction.execute(
        DeviceRow.insertSQL,
        [
          .text(made.id), .integer(Int64(made.role.rawValue)), .text(made.displayName), .integer(nowMs),
          .integer(made.acknowledgedSequence), .text(user),
        ])
      counters.deviceCount += 1
      try transaction.put(counters, user: user)
      return made
    }
  }

  func devices(_ query: PositionQuery) throws -> [SyncDevice] {
    try readSingle { transaction in
      try transaction.query(
        DeviceRow.listSQL, [.text(query.user), .text(query.position.first ?? ""), .int(query.pageSize + 1)],
        DeviceRow.device)
    }
  }

  func unregisterDevice(_ id: String, user: String) async throws {
    try await storeWrite { transaction in
      guard try transaction.execute(DeviceRow.deleteSQL, [.text(user), .text(id)]) == 1 else {
        throw RPCError.deviceNotFound(id)
      }
      var counters = try transaction.syncUser(user)
      counters.deviceCount -= 1
      try transaction.put(counters, user: user)
      notifier.changed(user)
    }
  }

  func publish(
    _ message: SyncUpdateMessage, device: String, requestID: String, user: String, idempotency: IdempotentRequest?
  ) async throws -> Int64 {
    let payload = message.jsonUTF8Bytes()
    return try await storeWrite { transaction in
      guard try transaction.queryOne(DeviceRow.roleSQL, [.text(user), .text(device)], { try $0.integer(0) }) != nil
      else { throw RPCError.deviceNotFound(device) }
      let before = try transaction.queryOne(
        MessageRow.ofRequestSQL, [.text(user), .text(device), .text(requestID)]
      ) { (try $0.integer(0), try $0.bytes(1)) }
      if let (sequence, kept) = before {
        guard kept == payload else {
          throw StoreError(.requestIDReused, "the request id was used before for a different message")
        }
        return sequence
      }
      // A message may be deleted within 24 h, because the user has too many.
      if let reply = try storedReply(PublishUpdateResponse.self, idempotency, transaction) { return reply.sequence }
      var counters = try transaction.syncUser(user)
      let nowMs = clockMs()
      let sequence = try add(
        payload, device: device, requestID: requestID, user: user, &counters, nowMs: nowMs, transaction)
      try transaction.put(counters, user: user)
      if appliesUpdates, message.type == .notificationRead || message.type == .notificationDeleted {
        try transaction.enqueue(topic: Self.applyTopic, key: user, payload: payload, nowMs: nowMs)
      }
      try storeReply(PublishUpdateResponse(sequence: sequence), idempotency, transaction)
      notifier.changed(user)
      return sequence
    }
  }

  /// Adds a message, and deletes the oldest messages if the user has too many.
  ///
  /// - Returns: The message's sequence.
  private func add(
    _ payload: [UInt8], device: String, requestID: String, user: String, _ counters: inout StoredUser, nowMs: Int64,
    _ transaction: WriteTransaction
  ) throws -> Int64 {
    counters.messageSequence += 1
    let sequence = counters.messageSequence
    try transaction.execute(
      MessageRow.insertSQL,
      [.text(user), .integer(sequence), .text(device), .text(requestID), .blob(payload), .integer(nowMs)])
    guard sequence - limits.messagesPerUserMax > counters.droppedThrough else { return sequence }
    // Count the rows instead of comparing sequences, because replaced messages of the service leave gaps.
    let surplus = try transaction.queryOne(
      MessageRow.surplusSQL, [.text(user), .integer(limits.messagesPerUserMax)]
    ) { try $0.integer(0) }
    if let surplus {
      counters.droppedThrough = max(counters.droppedThrough, surplus)
      try transaction.execute(MessageRow.dropSQL, [.text(user), .integer(surplus)])
    }
    return sequence
  }

  /// Notifies the user's devices with FULL_SYNC that the service has exported their files. Replaces the previous such
  /// message, so that a device receives one however many commits it has missed.
  func announce(
    revision: Int64, user: String, _ counters: inout StoredUser, nowMs: Int64, _ transaction: WriteTransaction
  ) throws {
    guard counters.deviceCount > 0 else { return }
    let message = SyncUpdateMessage(type: .fullSync, eventTime: ProtoTimestamp(millisecondsSince1970: nowMs))
    try transaction.execute(MessageRow.dropOfServiceSQL, [.text(user)])
    _ = try add(
      message.jsonUTF8Bytes(), device: "", requestID: "revision-\(revision)", user: user, &counters, nowMs: nowMs,
      transaction)
  }

  func updates(for device: String, after sequence: Int64, user: String, countMax: Int) throws -> UpdatePage {
    try read { transaction in
      let found = try transaction.queryOne(DeviceRow.oneSQL, [.text(user), .text(device)], DeviceRow.device)
      guard let found else { throw RPCError.deviceNotFound(device) }
      let counters = try transaction.syncUser(user)
      var position = max(found.acknowledgedSequence, sequence)
      var page = UpdatePage(start: position, sequence: counters.messageSequence)
      // A sequence that was never assigned: the database was restored from a backup.
      let isRestored = position > counters.messageSequence
      if isRestored || position < counters.droppedThrough {
        position = isRestored ? counters.messageSequence : counters.droppedThrough
        page.updates.append(.fullSync(through: position, atMs: clockMs()))
      }
      // Bounded by the number of stored messages of a user.
      try transaction.forEach(MessageRow.afterSQL, [.text(user), .integer(position)]) { row in
        let source = try row.text(1)
        if source == device { return true }
        guard page.updates.count < countMax else {
          page.hasMore = true
          return false
        }
        let update = SyncUpdate(
          sequence: try row.integer(0), sourceDeviceId: source,
          message: try StoredJSON.message(SyncUpdateMessage.self, row, 2, "a message"),
          publishTime: ProtoTimestamp(millisecondsSince1970: try row.integer(3)))
        page.updates.append(update)
        return true
      }
      if page.hasMore, let last = page.updates.last { page.sequence = last.sequence }
      return page
    }
  }

  func acknowledge(_ device: String, through sequence: Int64, user: String) async throws {
    try await storeWrite { transaction in
      guard try transaction.queryOne(DeviceRow.roleSQL, [.text(user), .text(device)], { try $0.integer(0) }) != nil
      else { throw RPCError.deviceNotFound(device) }
      // Cap at the last sequence, because later messages must not count as acknowledged.
      let last = try transaction.syncUser(user).messageSequence
      try transaction.execute(
        DeviceRow.acknowledgeSQL, [.text(user), .text(device), .integer(min(sequence, last))])
    }
  }
}

extension SyncUpdate {
  /// Returns an update that stands for messages no longer stored.
  static func fullSync(through sequence: Int64, atMs: Int64) -> SyncUpdate {
    let time = ProtoTimestamp(millisecondsSince1970: atMs)
    return SyncUpdate(
      sequence: sequence, message: SyncUpdateMessage(type: .fullSync, eventTime: time), publishTime: time)
  }
}
