import CampanileAPI
import CampanileRPC
import CampanileService

/// Who makes a call, and what they may do.
struct Caller: Sendable, Hashable {
  /// A member's id, or the name of a principal: what the audit log tells.
  var name: String
  var role: MemberRole
  /// Nil for a principal that is no member.
  var memberNumber: Int64?
  /// The peer's address without its port.
  var address: String
  /// The session that the call came with.
  var sessionHash: [UInt8]?

  /// Secretaries and admins see everything.
  var isStaff: Bool { role.includes(.secretary) }

  /// Throws PERMISSION_DENIED, reason `ROLE_MISSING`, below a role.
  func require(_ needed: MemberRole) throws(RPCError) {
    guard role.includes(needed) else { throw Self.roleMissing(needed) }
  }

  /// Throws PERMISSION_DENIED, reason `ROLE_MISSING`, unless the member calls, or someone with a role.
  func require(_ needed: MemberRole, orMember number: Int64) throws(RPCError) {
    if memberNumber == number { return }
    try require(needed)
  }

  /// The member who calls. Throws PERMISSION_DENIED, reason `MEMBER_UNKNOWN`, for a principal that is none.
  func requireMember() throws(RPCError) -> Int64 {
    guard let memberNumber else { throw Self.memberUnknown(name) }
    return memberNumber
  }

  static func roleMissing(_ role: MemberRole) -> RPCError {
    let title = role == .admin ? "ADMIN" : role == .secretary ? "SECRETARY" : "MEMBER"
    return RPCError(
      .permissionDenied, "the caller needs the role \(title)", reason: Reason.roleMissing.rawValue,
      errorMetadata: ["role": title])
  }

  static func memberUnknown(_ name: String) -> RPCError {
    RPCError(.permissionDenied, "\(name) is no member", reason: Reason.memberUnknown.rawValue)
  }
}

extension MemberRole {
  /// Whether it includes another role.
  func includes(_ other: MemberRole) -> Bool { (1...3).contains(rawValue) && rawValue >= other.rawValue }
}

extension Member {
  /// What `caller` may see of it.
  func seen(by caller: Caller) -> Member {
    if caller.isStaff || caller.memberNumber == number { return self }
    var seen = self
    seen.email = ""
    seen.userId = ""
    seen.role = .unspecified
    seen.hasPin = false
    return seen
  }
}
