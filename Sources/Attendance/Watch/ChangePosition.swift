import CampanileAPI
import CampanileRPC
import CampanileService

/// Where someone who catches up stands: the last sequence that was told.
struct ChangePosition: Sendable, Hashable {
  var epoch: UInt64
  var sequence: Int64
  /// Whether everything was told, or the own alone: with another role everything is to be told anew.
  var isStaff: Bool

  func text(for caller: Caller) -> String {
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

  /// Throws INVALID_ARGUMENT, reason `RESUME_TOKEN_INVALID`, for a text that is no token of this caller.
  init(_ text: String, of caller: Caller) throws(RPCError) {
    guard let payload = OpaqueToken.decode(text, scope: Self.scope(caller)), payload.count == 17,
      let epoch = OpaqueToken.readInteger(payload, at: 1), let bits = OpaqueToken.readInteger(payload, at: 9),
      let sequence = Int64(exactly: bits)
    else {
      throw .invalidField("since", "is no token of this caller", reason: Reason.resumeTokenInvalid.rawValue)
    }
    self.init(epoch: epoch, sequence: sequence, isStaff: payload[0] == 1)
  }

  private static func scope(_ caller: Caller) -> [String] { ["attendance-changes", caller.name] }
}

/// One object as it is now, with the sequence of its last change.
struct SequencedChange: Sendable, Hashable {
  var sequence: Int64
  var change: RosterChange.Change

  /// About what it takes in a page.
  var sizeBytes: Int {
    switch change {
    case .member(let member): member.sizeBytes
    case .meeting(let meeting): meeting.sizeBytes
    default: 400
    }
  }
}
