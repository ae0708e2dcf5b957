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
        found.subscriptions = try WakeTable.subscriptions(user, device.id, transaction)
        return found
      }
      var counters = try transaction.syncUser(user)
      guard counters.deviceCount < Int64(limits.devicesPerUserMax) else {
        throw RPCError.exhausted(
          "a user may have \(limits.devicesPerUserMax) devices", .devicesExhausted, limit: limits.devicesPerUserMax)
      }
      var made = SyncDevice(
        id: device.id, role: device.role, displayName: device.displayName, installationId: device.id)
      let nowMs = clockMs()
      made.createTime = ProtoTimestamp(millisecondsSince1970: nowMs)
      // The device receives only later messages.
      made.acknowledgedSequence = counters.messageSequence
      try transaction.execute(
        DeviceRow.insertSQL,
        [
          .text(made.id), .integer(Int64(made.role.rawValue)), .text(made.displayName), .integer(nowMs),
          .integer(made.acknowledgedSequence), .bool(false), .text(""), .text(made.id), .null, .text(user),
        ])
      counters.deviceCount += 1
      try transaction.put(counters, user: user)
      return made
    }
  }

  func devices(_ query: PositionQuery) async throws -> [SyncDevice] {
    try await read { transaction in
      var devices = try transaction.query(
        DeviceRow.listSQL, [.text(query.user), .text(query.position.first ?? ""), .int(query.pageSize + 1)],
        DeviceRow.device)
      for index in devices.indices {
        devices[index].subscriptions = try WakeTable.subscriptions(query.user, devices[index].id, transaction)
      }
      return devices
    }
  }

  func setSubscriptions(_ draft: SubscriptionsDraft, user: String) async throws -> SyncDevice {
    try await storeWrite { transaction in
      let key: [SQLValue] = [.text(user), .text(draft.device)]
      try transaction.execute(
        DeviceRow.subscribeSQL, key + [.bool(draft.wakesForUpdates), .text(draft.app), .text(draft.installation)])
      guard var device = try transaction.queryOne(DeviceRow.oneSQL, key, DeviceRow.device) else {
        throw RPCError.deviceNotFound(draft.device)
      }
      try transaction.execute(WakeTable.unsubscribeSQL, key)
      for subscription in draft.subscriptions {
        try transaction.execute(
          WakeTable.subscribeSQL,
          [
            .text(user), .text(subscription.zoneId), .text(draft.device), .text(subscription.recordType),
            .text(subscription.name),
          ])
      }
      device.subscriptions = try WakeTable.subscriptions(user, draft.device, transaction)
      return device
    }
  }

  func unregisterDevice(_ id: String, keepsReaders: Bool, user: String) async throws {
    try await storeWrite { transaction in
      let key: [SQLValue] = [.text(user), .text(id)]
      // A reader that is bound to its credential could otherwise register as a writer.
      if keepsReaders { try Self.requireWriter(id, user: user, transaction) }
      guard try transaction.executeCounting(DeviceRow.deleteSQL, key) == 1 else { throw RPCError.deviceNotFound(id) }
      try transaction.execute(WakeTable.unsubscribeSQL, key)
      try transaction.execute(WakeTable.dropSQL, key)
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
      if wakesDevices {
        try WakePlanner(transaction: transaction, user: user, nowMs: nowMs, notifier: notifier)
          .wakeForUpdates(author: device)
      }
      if isExporting, message.type == .notificationRead || message.type == .notificationDeleted {
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

  /// Notifies the user's devices of an export. Changes that a device has published itself are left out.
  ///
  /// A message replaces the same earlier one, and FULL_SYNC all of the service, so that a device gets few however many
  /// commits it has missed.
  func announce(
    _ export: ExportDraft, user: String, _ counters: inout StoredUser, nowMs: Int64, _ transaction: WriteTransaction
  ) throws {
    guard counters.deviceCount > 0 else { return }
    var published: Set<EntityUpdate> = []
    if export.updates.contains(where: { $0 != .fullSync }) {
      try transaction.forEach(MessageRow.publishedSQL, [.text(user), .integer(export.sinceMs)]) { row in
        let message = try StoredJSON.message(SyncUpdateMessage.self, row, 0, "a message")
        published.insert(EntityUpdate(type: message.type, entityID: message.entityId))
        return true
      }
    }
    let updates = export.updates.filter { !published.contains($0) }
    guard !updates.isEmpty else { return }
    if updates.contains(.fullSync) { try transaction.execute(MessageRow.dropOfServiceSQL, [.text(user)]) }
    for update in updates {
      try transaction.execute(MessageRow.dropRequestSQL, [.text(user), .text(update.requestID)])
      let message = SyncUpdateMessage(
        type: update.type, entityId: update.entityID, eventTime: ProtoTimestamp(millisecondsSince1970: nowMs))
      _ = try add(
        message.jsonUTF8Bytes(), device: "", requestID: update.requestID, user: user, &counters, nowMs: nowMs,
        transaction)
    }
    if wakesDevices {
      try WakePlanner(transaction: transaction, user: user, nowMs: nowMs, notifier: notifier)
        .wakeForUpdates(author: "")
    }
  }

  func updates(for device: String, after sequence: Int64, user: String, countMax: Int) async throws -> UpdatePage {
    try await read { transaction in
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
        let message = try StoredJSON.message(SyncUpdateMessage.self, row, 2, "a message")
        page.updates.append(
          SyncUpdate(
            sequence: try row.integer(0), sourceDeviceId: source, message: message,
            publishTime: ProtoTimestamp(millisecondsSince1970: try row.integer(3)),
            messageJson: AppMessage.json(message)))
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
    let message = SyncUpdateMessage(type: .fullSync, eventTime: time)
    return SyncUpdate(
      sequence: sequence, message: message, publishTime: time, messageJson: AppMessage.json(message))
  }
}
