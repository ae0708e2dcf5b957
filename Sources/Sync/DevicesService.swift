public import CampanileAPI
import CampanileBase
import CampanileCodec
public import CampanileRPC
import CampanileService

/// Serves `campanile.sync.v1.DevicesService`: devices and the messages between them.
public struct DevicesService: DevicesServiceProtocol {
  static let displayNameMax = 100
  static let mutationIDMax = 64

  let repository: any SyncRepository
  let hub: WatchHub
  /// Called with users whose notifications must be exported to files, because a registered device reads them there.
  let wantsExport: @Sendable (String) async throws -> Void

  public func registerDevice(
    _ request: RegisterDeviceRequest, context: CallContext
  ) async throws -> RegisterDeviceResponse {
    let user = try context.requireUser()
    var violations = Violations()
    let device = request.device ?? SyncDevice()
    NameRules.device(device.id, "device.id", &violations)
    switch device.role {
    case .reader, .writer: break
    case .unspecified: violations.add("device.role", "must be READER or WRITER", .enumUnspecified)
    default: violations.add("device.role", "must be READER or WRITER", .enumUnknown)
    }
    violations.text(device.displayName, "device.displayName", max: Self.displayNameMax)
    try violations.check()
    let response = RegisterDeviceResponse(device: try await repository.registerDevice(device, user: user))
    try await wantsExport(user)
    return response
  }

  public func listSyncDevices(
    _ request: ListSyncDevicesRequest, context: CallContext
  ) async throws -> ListSyncDevicesResponse {
    let user = try context.requireUser()
    return ListSyncDevicesResponse(devices: try repository.devices(user: user))
  }

  public func unregisterDevice(
    _ request: UnregisterDeviceRequest, context: CallContext
  ) async throws -> UnregisterDeviceResponse {
    let user = try context.requireUser()
    try await repository.unregisterDevice(try Self.device(request.deviceId), user: user)
    return UnregisterDeviceResponse()
  }

  public func publishUpdate(
    _ request: PublishUpdateRequest, context: CallContext
  ) async throws -> PublishUpdateResponse {
    let user = try context.requireUser()
    var violations = Violations()
    NameRules.device(request.deviceId, "deviceId", &violations)
    violations.text(request.mutationId, "mutationId", min: 1, max: Self.mutationIDMax)
    let message = request.message ?? SyncUpdateMessage()
    Self.check(message, &violations)
    try violations.check()
    let (sequence, repeatedMutation) = try await repository.publish(
      message, device: request.deviceId, mutationID: request.mutationId, user: user)
    return PublishUpdateResponse(sequence: sequence, repeatedMutation: repeatedMutation)
  }

  public func listUpdates(_ request: ListUpdatesRequest, context: CallContext) async throws -> ListUpdatesResponse {
    let user = try context.requireUser()
    var violations = Violations()
    NameRules.device(request.deviceId, "deviceId", &violations)
    Self.sequence(request.afterSequence, "afterSequence", &violations)
    let count = Paging.size(request.pageSize, repository.limits, &violations)
    try violations.check()
    let updates = try repository.updates(
      for: request.deviceId, after: request.afterSequence, user: user, countMax: count + 1)
    return ListUpdatesResponse(updates: Array(updates.prefix(count)), more: updates.count > count)
  }

  public func watchUpdates(
    _ request: WatchUpdatesRequest, context: CallContext, responses: ResponseSink<WatchUpdatesResponse>
  ) async throws {
    let user = try context.requireUser()
    var violations = Violations()
    NameRules.device(request.deviceId, "deviceId", &violations)
    Self.sequence(request.afterSequence, "afterSequence", &violations)
    try violations.check()
    try await UpdateWatch(repository: repository, hub: hub).run(
      device: request.deviceId, after: request.afterSequence, user: user
    ) { try await responses.send($0) }
  }

  public func acknowledgeUpdates(
    _ request: AcknowledgeUpdatesRequest, context: CallContext
  ) async throws -> AcknowledgeUpdatesResponse {
    let user = try context.requireUser()
    var violations = Violations()
    NameRules.device(request.deviceId, "deviceId", &violations)
    Self.sequence(request.throughSequence, "throughSequence", &violations)
    try violations.check()
    try await repository.acknowledge(request.deviceId, through: request.throughSequence, user: user)
    return AcknowledgeUpdatesResponse()
  }

  private static func check(_ message: SyncUpdateMessage, _ violations: inout Violations) {
    violations.text(message.entityId, "message.entityId", max: 128)
    switch message.type {
    case .fullSync: break
    case .notificationRead, .notificationDeleted, .bucketCreated, .bucketUpdated, .bucketDeleted:
      if message.entityId.isEmpty { violations.add("message.entityId", "must not be empty", .required) }
    case .unspecified: violations.add("message.type", "must be given", .enumUnspecified)
    default: violations.add("message.type", "is unknown", .enumUnknown)
    }
    if message.timestamp == nil {
      violations.add("message.timestamp", "must be given", .required)
    } else {
      _ = TimeRules.milliseconds(message.timestamp, "message.timestamp", &violations)
    }
  }

  private static func sequence(_ value: Int64, _ field: String, _ violations: inout Violations) {
    if value < 0 { violations.add(field, "must not be negative", .outOfRange) }
  }

  private static func device(_ id: String) throws(RPCError) -> String {
    try Violations.check { NameRules.device(id, "deviceId", &$0) }
    return id
  }
}
