import CampanileRPC
import CampanileService

/// Where somebody stands in the revisions of a zone, as callers keep it.
struct ZonePosition: Sendable, Hashable {
  /// Of the store whose log it is.
  var epoch: UInt64
  /// The number of the zone, which a zone of the same name that is made later does not have.
  var zone: Int64
  /// The last one that was told.
  var revision: Int64

  init(epoch: UInt64, zone: Int64, revision: Int64) {
    self.epoch = epoch
    self.zone = zone
    self.revision = revision
  }

  func text(user: String) -> String {
    var payload: [UInt8] = []
    for value in [epoch, UInt64(bitPattern: zone), UInt64(bitPattern: revision)] {
      OpaqueToken.append(value, to: &payload)
    }
    return OpaqueToken.encode(payload, scope: Self.scope(user))
  }

  /// Throws INVALID_ARGUMENT, reason `RESUME_TOKEN_INVALID`, for a text that is no token of this user.
  init(_ text: String, user: String) throws(RPCError) {
    guard let payload = OpaqueToken.decode(text, scope: Self.scope(user)), payload.count == 24,
      let epoch = OpaqueToken.readInteger(payload, at: 0), let zone = OpaqueToken.readInteger(payload, at: 8),
      let revision = OpaqueToken.readInteger(payload, at: 16), let zoneNumber = Int64(exactly: zone),
      let revisionNumber = Int64(exactly: revision)
    else {
      throw .invalidField(
        "resumeToken", "is no resume token of this user", reason: Reason.resumeTokenInvalid.rawValue)
    }
    self.init(epoch: epoch, zone: zoneNumber, revision: revisionNumber)
  }

  private static func scope(_ user: String) -> [String] { ["zone-changes", user] }
}
