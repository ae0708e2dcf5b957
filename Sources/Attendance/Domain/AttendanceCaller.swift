import CampanileAPI
import CampanileBase
import CampanileRPC
import CampanileService

/// The identity and role of a call's caller.
struct AttendanceCaller: Sendable, Hashable {
  /// A member's id, or a principal's name; recorded in the audit log.
  var name: String
  var role: MemberRole
  /// Nil for a principal that is not a member.
  var memberNumber: Int64?
  /// The peer's address without its port.
  var address: String
  /// The hash of the session token sent with the call.
  var sessionHash: [UInt8]?

  /// Whether the caller is a secretary or an admin, who see everything.
  var isStaff: Bool { role.includes(.secretary) }

  /// Throws PERMISSION_DENIED, reason `ROLE_MISSING`, if the caller lacks a role.
  func require(_ needed: MemberRole) throws(RPCError) {
    guard role.includes(needed) else { throw Self.roleMissing(needed) }
  }

  /// Throws PERMISSION_DENIED, reason `ROLE_MISSING`, unless the caller is this member or has the role.
  func require(_ needed: MemberRole, orMember number: Int64) throws(RPCError) {
    if memberNumber == number { return }
    try require(needed)
  }

  /// Returns the calling member's number. Throws PERMISSION_DENIED, reason `MEMBER_UNKNOWN`, if the principal is not a
  /// member.
  func requireMember() throws(RPCError) -> Int64 {
    guard let memberNumber else { throw Self.memberUnknown(name) }
    return memberNumber
  }

  static func roleMissing(_ role: MemberRole) -> RPCError {
    let title = role == .admin ? "ADMIN" : role == .secretary ? "SECRETARY" : "MEMBER"
    return RPCError(
      .permissionDenied, "the caller needs the role \(title)", .roleMissing,
      errorMetadata: ["role": title])
  }

  static func memberUnknown(_ name: String) -> RPCError {
    RPCError(.permissionDenied, "\(name) is not a member", .memberUnknown)
  }
}

extension MemberRole {
  /// Whether this role has the permissions of another.
  func includes(_ other: MemberRole) -> Bool { (1...3).contains(rawValue) && rawValue >= other.rawValue }
}

extension Member {
  /// Returns the member with only the fields visible to `caller`.
  func seen(by caller: AttendanceCaller) -> Member {
    if caller.isStaff || caller.memberNumber == number { return self }
    var seen = self
    seen.email = ""
    seen.userId = ""
    seen.role = .unspecified
    seen.hasPin = false
    seen.refusedNotices = []
    return seen
  }
}
