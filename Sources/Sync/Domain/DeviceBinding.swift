import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService

/// Checks of callers whose credential is bound to a device.
extension CallContext {
  /// The device that the caller's credential is bound to; empty for none.
  var boundDevice: String { principal?.deviceID ?? "" }

  /// Returns the calling user of a request that names a device.
  ///
  /// - Throws: As `requireUser`; PERMISSION_DENIED, reason `DEVICE_MISMATCH`, if the credential is bound to another
  ///   device. An empty id is left to the constraints.
  func requireUser(of device: String, field: String = "deviceId") throws(RPCError) -> String {
    let user = try requireUser()
    guard boundDevice.isEmpty || device.isEmpty || boundDevice == device else {
      throw RPCError(
        .permissionDenied, "\(field): the credential is bound to the device \(boundDevice)", .deviceMismatch,
        fieldViolations: [
          .init(
            field: field, description: "must be the device of the credential", reason: Reason.deviceMismatch.rawValue)
        ])
    }
    return user
  }

  /// Returns the calling user of a change that names no device.
  ///
  /// - Throws: As `requireUser`; PERMISSION_DENIED, reason `DEVICE_READ_ONLY`, if the credential is bound to a reader.
  func requireWritingUser(_ repository: any SyncRepository) async throws -> String {
    let user = try requireUser()
    if !boundDevice.isEmpty { try await repository.requireWriter(boundDevice, user: user) }
    return user
  }
}
