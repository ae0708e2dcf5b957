import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService

/// The start of a list or watch of a zone's changes.
enum ChangesStart: Sendable, Hashable {
  /// After the newest change.
  case present
  /// Before the oldest retained change.
  case oldest
  /// After the changes that a token stands for.
  case token(String)

  /// Returns the start of a request. A client that resumes may still set `fromStart`, so a token prevails.
  init(_ token: String, fromStart: Bool) {
    self = !token.isEmpty ? .token(token) : fromStart ? .oldest : .present
  }
}

/// A client's position in the revisions of a zone.
struct ZonePosition: Sendable, Hashable {
  /// The epoch of the store.
  var epoch: UInt64
  /// The number of the zone, which differs for a later zone of the same name.
  var zone: Int64
  /// The last revision that the client has received.
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

  /// Throws INVALID_ARGUMENT, reason `RESUME_TOKEN_INVALID`, if the text is not a token of this user.
  init(_ text: String, user: String) throws(RPCError) {
    guard let payload = OpaqueToken.decode(text, scope: Self.scope(user)), payload.count == 24,
      let epoch = OpaqueToken.readInteger(payload, at: 0), let zone = OpaqueToken.readInteger(payload, at: 8),
      let revision = OpaqueToken.readInteger(payload, at: 16), let zoneNumber = Int64(exactly: zone),
      let revisionNumber = Int64(exactly: revision)
    else {
      throw .invalidField("resumeToken", "is not a resume token of this user", .resumeTokenInvalid)
    }
    self.init(epoch: epoch, zone: zoneNumber, revision: revisionNumber)
  }

  private static func scope(_ user: String) -> [String] { ["zone-changes", user] }
}
