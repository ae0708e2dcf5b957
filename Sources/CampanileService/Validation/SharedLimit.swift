public import CampanileBase
public import CampanileCodec
import CampanileRPC

/// A limit on what all users hold together, with a limit per user and a reserve for users who hold nothing.
///
/// Without the reserve, the first users could use up the total, each within their own limit.
public struct SharedLimit: Sendable, Hashable {
  /// The maximum for all users together.
  public let total: Int
  /// The maximum for one user.
  public let perUser: Int

  public init(total: Int, perUser: Int) {
    self.total = total
    self.perUser = perUser
  }

  /// The last quarter of the total, only available to users who hold nothing.
  public var reserve: Int { total / 4 }

  /// The cause of a refusal.
  public enum Refusal: Sendable, Hashable {
    /// The user has reached the limit per user.
    case userFull
    /// Only the reserve is left, and the user already holds something.
    case reserved
    /// The total is reached.
    case full
  }

  /// Returns the cause if the user may not take one more, or nil if the user may.
  ///
  /// - Parameters:
  ///   - held: The number that the user holds.
  ///   - taken: The number that all users hold, including this one.
  public func refusal(held: Int, taken: Int) -> Refusal? {
    if held >= perUser { return .userFull }
    if taken >= total { return .full }
    return held > 0 && taken >= total - reserve ? .reserved : nil
  }

  /// Throws RESOURCE_EXHAUSTED if a user may not take one more. `things` is the plural noun for the message.
  public func check(held: Int, taken: Int, of things: String, _ reason: Reason) throws(RPCError) {
    switch refusal(held: held, taken: taken) {
    case nil: return
    case .userFull: throw .exhausted("a user may have \(perUser) \(things)", reason, limit: perUser)
    case .full: throw .exhausted("the service may have \(total) \(things)", reason, limit: total)
    case .reserved:
      throw .exhausted(
        "the service may have \(total - reserve) \(things); the rest is reserved for users without any", reason,
        limit: total - reserve)
    }
  }
}
