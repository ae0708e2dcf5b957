import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService

/// A client's position in the log of changes: the last sequence it has received, or 0 at the start.
struct ChangePosition: Sendable, Hashable {
  var epoch: UInt64
  var sequence: Int64
  /// Whether the client receives all attendance or only its own. If this changes, it must start over.
  var isStaff: Bool

  func text(for caller: AttendanceCaller) -> String {
    var payload: [UInt8] = [isStaff ? 1 : 0]
    OpaqueToken.append(epoch, to: &payload)
    OpaqueToken.append(UInt64(bitPattern: sequence), to: &payload)
    return OpaqueToken.encode(payload, scope: Self.scope(caller))
  }

  init(epoch: UInt64, sequence: Int64, isStaff: Bool) {
    self.epoch = epoch
    self.sequence = sequence
    self.isStaff = isStaff
  }

  /// Throws INVALID_ARGUMENT, reason `RESUME_TOKEN_INVALID`, if the text is not a token of this caller.
  init(_ text: String, of caller: AttendanceCaller) throws(RPCError) {
    guard let payload = OpaqueToken.decode(text, scope: Self.scope(caller)), payload.count == 17,
      let epoch = OpaqueToken.readInteger(payload, at: 1), let bits = OpaqueToken.readInteger(payload, at: 9),
      let sequence = Int64(exactly: bits)
    else {
      throw .invalidField("resumeToken", "is not a resume token of this caller", .resumeTokenInvalid)
    }
    self.init(epoch: epoch, sequence: sequence, isStaff: payload[0] == 1)
  }

  private static func scope(_ caller: AttendanceCaller) -> [String] { ["attendance-changes", caller.name] }
}

extension AttendanceRepository {
  /// Returns the position at which a list of changes or a watch begins: that of the token, otherwise the start or the
  /// present.
  func position(_ resumeToken: String, fromStart: Bool, by caller: AttendanceCaller) async throws -> ChangePosition {
    if !resumeToken.isEmpty { return try await position(resumeToken, by: caller) }
    var position = try await presentPosition(of: caller)
    if fromStart { position.sequence = 0 }
    return position
  }
}

/// The current state of an object, with the sequence of its last change.
struct SequencedChange: Sendable, Hashable {
  var sequence: Int64
  var change: RosterChange.Change

  /// The approximate size in a page.
  var sizeBytes: Int {
    switch change {
    case .member(let member): member.sizeBytes
    case .meeting(let meeting): meeting.sizeBytes
    default: 400
    }
  }
}
