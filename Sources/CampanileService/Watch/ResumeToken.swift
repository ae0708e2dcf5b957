public import CampanileBase
import CampanileCodec
import CampanileRPC

/// The position of a watch in the change log of one store, encoded for callers.
public struct ResumeToken: Sendable, Hashable {
  /// The epoch of the store's change log.
  public var epoch: UInt64
  /// The last change that was sent.
  public var sequence: Int64

  public func text(user: String) -> String {
    var payload: [UInt8] = []
    OpaqueToken.append(epoch, to: &payload)
    OpaqueToken.append(UInt64(bitPattern: sequence), to: &payload)
    return OpaqueToken.encode(payload, scope: Self.scope(user))
  }

  public init(epoch: UInt64, sequence: Int64) {
    self.epoch = epoch
    self.sequence = sequence
  }

  /// Throws INVALID_ARGUMENT, reason `RESUME_TOKEN_INVALID`, for a text that is not a token of this user.
  public init(_ text: String, user: String) throws(RPCError) {
    guard let payload = OpaqueToken.decode(text, scope: Self.scope(user)), payload.count == 16,
      let epoch = OpaqueToken.readInteger(payload, at: 0), let bits = OpaqueToken.readInteger(payload, at: 8),
      let sequence = Int64(exactly: bits)
    else {
      throw .invalidField("resumeToken", "is not a resume token of this user", .resumeTokenInvalid)
    }
    self.init(epoch: epoch, sequence: sequence)
  }

  /// Returns the position where a watch of a log in memory begins: the present for an empty token.
  ///
  /// - Parameter isRetained: Returns whether every entry after a sequence, which is at most the present's, is retained.
  /// - Throws: INVALID_ARGUMENT for a token of another scope, and OUT_OF_RANGE, reason `TOKEN_TOO_OLD`.
  public static func start(
    _ text: String, present: ResumeToken, scope: String, isRetained: (Int64) -> Bool
  ) throws(RPCError) -> ResumeToken {
    guard !text.isEmpty else { return present }
    let token = try ResumeToken(text, user: scope)
    guard token.epoch == present.epoch, token.sequence >= 0, token.sequence <= present.sequence,
      isRetained(token.sequence)
    else { throw ChangeLogTable.tokenTooOld }
    return token
  }

  private static func scope(_ user: String) -> [String] { ["watch", user] }
}
