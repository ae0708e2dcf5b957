public import CampanileAPI
import CampanileBase
import CampanileCodec
public import CampanileRPC
import CampanileService

/// Serves `campanile.sync.v1.DevicesService`: devices and the messages between them.
public struct DevicesService: DevicesServiceProtocol {
  let repository: any SyncRepository
  let hub: WatchHub
  let awake: AwakeDevices
  /// Called with users whose notifications must be exported to files, because a registered device reads them there.
  let wantsExport: @Sendable (String) async throws -> Void

  public func registerDevice(
    _ request: RegisterDeviceRequest, context: CallContext
  ) async throws -> RegisterDeviceResponse {
    let device = request.device ?? SyncDevice()
    let user = try context.requireUser(of: device.id, field: "device.id")
    var violations = Violations()
    request.validate(into: &violations)
    NameRules.device(device.id, "device.id", &violations)
    try violations.check()
    let response = RegisterDeviceResponse(device: try await repository.registerDevice(device, user: user))
    try await wantsExport(user)
    return response
  }

  public func listSyncDevices(
    _ request: ListSyncDevicesRequest, context: CallContext
  ) async throws -> ListSyncDevicesResponse {
    let user = try context.requireUser()
    let query = try PositionQuery(
      user: user, pageSize: request.pageSize, pageToken: request.pageToken, scope: ["devices"], parts: 1,
      limits: repository.limits)
    let (devices, nextPageToken) = query.page(try await repository.devices(query)) { [$0.id] }
    return ListSyncDevicesResponse(devices: devices, nextPageToken: nextPageToken)
  }

  public func unregisterDevice(
    _ request: UnregisterDeviceRequest, context: CallContext
  ) async throws -> UnregisterDeviceResponse {
    let user = try context.requireUser(of: request.deviceId)
    try Self.check(request, device: request.deviceId)
    try await repository.unregisterDevice(
      request.deviceId, keepsReaders: !context.boundDevice.isEmpty, user: user)
    return UnregisterDeviceResponse()
  }

  public func setSubscriptions(
    _ request: SetSubscriptionsRequest, context: CallContext
  ) async throws -> SetSubscriptionsResponse {
    let user = try context.requireUser(of: request.deviceId)
    var violations = Violations()
    request.validate(into: &violations)
    NameRules.device(request.deviceId, "deviceId", &violations)
    NameRules.device(request.installationId, "installationId", &violations)
    let draft = SubscriptionsDraft(request, &violations)
    try violations.check()
    return SetSubscriptionsResponse(device: try await repository.setSubscriptions(draft, user: user))
  }

  public func publishUpdate(
    _ request: PublishUpdateRequest, context: CallContext
  ) async throws -> PublishUpdateResponse {
    let user = try context.requireUser(of: request.deviceId)
    var violations = Violations()
    request.validate(into: &violations)
    NameRules.device(request.deviceId, "deviceId", &violations)
    let message = Self.message(request, &violations)
    try violations.check()
    var requestWithoutID = request
    requestWithoutID.requestId = ""
    // Each device chooses its own ids. No id of a device has a slash.
    let idempotency = try IdempotentRequest(
      "\(request.deviceId)/\(request.requestId)", requestWithoutID, method: DevicesServiceMethods.publishUpdate,
      user: user)
    let sequence = try await repository.publish(
      message, device: request.deviceId, requestID: request.requestId, user: user, idempotency: idempotency)
    return PublishUpdateResponse(sequence: sequence)
  }

  public func listUpdates(_ request: ListUpdatesRequest, context: CallContext) async throws -> ListUpdatesResponse {
    let user = try context.requireUser(of: request.deviceId)
    try Self.check(request, device: request.deviceId)
    let count = Paging.size(request.pageSize, repository.limits)
    let page = try await repository.updates(
      for: request.deviceId, after: request.afterSequence, user: user, countMax: count)
    return ListUpdatesResponse(updates: page.updates, sequence: page.sequence, hasMore: page.hasMore)
  }

  public func watchUpdates(
    _ request: WatchUpdatesRequest, context: CallContext, responses: ResponseSink<WatchUpdatesResponse>
  ) async throws {
    let user = try context.requireUser(of: request.deviceId)
    try Self.check(request, device: request.deviceId)
    try await awake.during(request.deviceId, user: user) {
      try await UpdateWatch(repository: repository, hub: hub).run(
        device: request.deviceId, after: request.afterSequence, user: user
      ) { try await responses.send($0) }
    }
  }

  public func acknowledgeUpdates(
    _ request: AcknowledgeUpdatesRequest, context: CallContext
  ) async throws -> AcknowledgeUpdatesResponse {
    let user = try context.requireUser(of: request.deviceId)
    try Self.check(request, device: request.deviceId)
    try await repository.acknowledge(request.deviceId, through: request.throughSequence, user: user)
    return AcknowledgeUpdatesResponse()
  }

  /// Validates a request of one device.
  private static func check(_ request: some ValidatedMessage, device: String) throws(RPCError) {
    var violations = Violations()
    request.validate(into: &violations)
    NameRules.device(device, "deviceId", &violations)
    try violations.check()
  }

  /// Returns the message of a request in either form.
  private static func message(_ request: PublishUpdateRequest, _ violations: inout Violations) -> SyncUpdateMessage {
    guard request.messageJson.isEmpty else {
      if request.message != nil {
        violations.add("messageJson", "must be empty if message is set", .fieldNotAllowed)
      }
      let message = AppMessage.message(request.messageJson, "messageJson", &violations)
      requireEntity(message, "messageJson.entityId", &violations)
      return message
    }
    guard let message = request.message else {
      violations.add("message", "must be given unless messageJson is", .required)
      return SyncUpdateMessage()
    }
    requireEntity(message, "message.entityId", &violations)
    _ = TimeRules.milliseconds(message.eventTime, "message.eventTime", &violations)
    return message
  }

  private static func requireEntity(_ message: SyncUpdateMessage, _ field: String, _ violations: inout Violations) {
    switch message.type {
    case .notificationRead, .notificationDeleted, .bucketCreated, .bucketUpdated, .bucketDeleted:
      if message.entityId.isEmpty { violations.add(field, "must not be empty", .required) }
    default: break
    }
  }
}
