import CampanileRPC
import CampanileService

/// What the requests of actions may do.
public struct ActionLimits: Sendable, Hashable {
  /// Blocks such as `10.1.0.0/16` that may be called although they are no part of the public Internet.
  public var allowedAddressBlocks: [String] = []
  /// From the first lookup to the end of the last response.
  public var timeoutMs: Int64 = 10_000
  /// Requests under way at once.
  public var inFlightMax = 64

  public init() {}

  /// Throws INVALID_ARGUMENT, naming the block that is none.
  func sender(nowMs: @escaping @Sendable () -> Int64) throws -> any HTTPActionSending {
    var limits = HTTPActionLimits()
    limits.timeoutMs = timeoutMs
    limits.inFlightMax = inFlightMax
    let policy: AddressPolicy
    do throws(AddressBlock.InvalidBlock) {
      policy = try AddressPolicy(allowing: allowedAddressBlocks)
    } catch {
      throw RPCError.invalidField(
        "allowedAddressBlocks", "\(error.text) is no block of addresses", reason: Reason.outOfRange.rawValue)
    }
    return HTTPActionSender(policy: policy, limits: limits, nowMs: nowMs)
  }
}
