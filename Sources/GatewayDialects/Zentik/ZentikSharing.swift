import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import GatewayHTTP

/// The app's vocabulary for sharing: permissions for roles, and the JSON of shares and invite codes.
enum ZentikSharing {
  enum Action: Sendable, Hashable {
    case grant, revoke, listPermissions
    case createCode, listCodes, redeemCode, deleteCode(String)

    var takesBody: Bool {
      switch self {
      case .grant, .revoke, .createCode, .redeemCode: true
      case .listPermissions, .listCodes, .deleteCode: false
      }
    }

    /// The first method that the action calls.
    var method: MethodDescriptor {
      switch self {
      case .grant: SharingServiceMethods.shareBucket
      case .revoke: SharingServiceMethods.unshareBucket
      case .listPermissions: SharingServiceMethods.listBucketShares
      case .createCode: SharingServiceMethods.createInviteCode
      case .listCodes: SharingServiceMethods.listInviteCodes
      case .redeemCode: SharingServiceMethods.acceptInviteCode
      case .deleteCode: SharingServiceMethods.revokeInviteCode
      }
    }
  }

  static let resources: Set<Substring> = ["entity-permissions", "invite-codes"]
  static let permissionsMax = 8
  private static let words: Set<String> = ["READ", "WRITE", "DELETE", "ADMIN"]

  /// Returns the actions at a path, by HTTP method.
  static func actions(_ path: [String]) -> [String: Action] {
    switch (path.first, path.count) {
    case ("entity-permissions", 2) where path[1] == "grant": ["POST": .grant]
    case ("entity-permissions", 2) where path[1] == "revoke": ["DELETE": .revoke]
    case ("entity-permissions", 2) where path[1] == "resource-permissions": ["GET": .listPermissions]
    case ("invite-codes", 1): ["GET": .listCodes, "POST": .createCode]
    case ("invite-codes", 2) where path[1] == "redeem": ["POST": .redeemCode]
    case ("invite-codes", 2): ["DELETE": .deleteCode(path[1])]
    default: [:]
    }
  }

  /// Returns the role that includes all of the permissions. Publishers may also change and delete notifications.
  static func role(_ permissions: [String]) throws(RPCError) -> BucketRole {
    guard !permissions.isEmpty, permissions.allSatisfy(words.contains) else {
      throw RPCError.invalidField(
        "permissions", "each value in permissions must be one of \(words.sorted().joined(separator: ", "))",
        reason: "isEnum")
    }
    if permissions.contains("ADMIN") { return .admin }
    return permissions.contains { $0 != "READ" } ? .publisher : .reader
  }

  static func permissions(_ role: BucketRole) -> JSONTree {
    let all: [JSONTree] = [.string("READ"), .string("WRITE"), .string("DELETE"), .string("ADMIN")]
    switch role {
    case .reader: return .array(Array(all[..<1]))
    case .publisher: return .array(Array(all[..<2]))
    default: return .array(all)
    }
  }

  /// Returns the id of a bucket. Throws for other resources, which cannot be shared.
  static func bucket(type: String?, id: String?) throws(RPCError) -> String {
    guard type == "BUCKET" else {
      throw RPCError.invalidField("resourceType", "resourceType must be one of BUCKET", reason: "isEnum")
    }
    guard let id, !id.isEmpty else {
      throw RPCError.invalidField("resourceId", "resourceId should not be empty", reason: "isNotEmpty")
    }
    return id
  }

  static func time(_ fields: JSONFields, _ name: String) throws(RPCError) -> ProtoTimestamp? {
    guard let text = try fields.string(name), !text.isEmpty else { return nil }
    guard let time = DialectTimes.time(text) else {
      throw RPCError.invalidField(name, "\(name) must be a valid ISO 8601 date string", reason: "isDateString")
    }
    return time
  }

  private static func text(_ time: ProtoTimestamp?) -> JSONTree { time.map { .string(DialectTimes.text($0)) } ?? .null }

  private static func user(_ id: String) -> JSONTree { .object(["id": .string(id), "username": .string(id)]) }

  /// Returns the JSON of a share. `isPending` marks one that its user has not accepted.
  static func permission(_ share: BucketShare, of bucket: String, isPending: Bool) -> JSONTree {
    .object([
      "id": .string("\(bucket).\(share.userId)"), "resourceType": .string("BUCKET"), "resourceId": .string(bucket),
      "user": user(share.userId), "grantedBy": .null, "permissions": permissions(share.role),
      "expiresAt": text(share.expireTime), "inviteCodeId": .null, "createdAt": text(share.createTime),
      "updatedAt": text(share.createTime), "pending": .bool(isPending),
    ])
  }

  static func share(_ invitation: Invitation) -> BucketShare {
    BucketShare(
      userId: invitation.userId, role: invitation.role, expireTime: invitation.shareExpireTime,
      createTime: invitation.createTime)
  }

  /// Returns the JSON of an invite code. The secret is known only at creation; later a hint replaces it.
  static func code(_ code: InviteCode, secret: String?) -> JSONTree {
    .object([
      "id": .string("\(code.bucketId).\(code.id)"), "code": .string(secret ?? "\(code.hint)…"),
      "resourceType": .string("BUCKET"), "resourceId": .string(code.bucketId), "createdBy": .string(code.creatorId),
      "creator": user(code.creatorId), "permissions": permissions(code.role), "expiresAt": text(code.expireTime),
      "usageCount": .integer(Int64(code.useCount)),
      "maxUses": code.maxUses == 0 ? .null : .integer(Int64(code.maxUses)), "createdAt": text(code.createTime),
      "updatedAt": text(code.createTime),
    ])
  }
}
