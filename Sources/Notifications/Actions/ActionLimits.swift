import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService

/// Limits of the requests of actions.
public struct ActionLimits: Sendable, Hashable {
  /// Address blocks such as `10.1.0.0/16` that may be called although they are not part of the public Internet.
  public var allowedAddressBlocks: [String] = []
  /// The time limit from the first lookup to the end of the last response.
  public var timeoutMs: Int64 = 10_000
  /// Concurrent requests; see `ActionQueueLimits` for a user's share.
  public var inFlightMax = 64

  public init() {}

  /// Throws INVALID_ARGUMENT, naming the text that is not an address block.
  func sender(
    nowMs: @escaping @Sendable () -> Int64, log: @escaping @Sendable (String) -> Void
  ) throws -> any HTTPActionSending {
    var limits = HTTPActionLimits()
    limits.timeoutMs = timeoutMs
    limits.queue.inFlightMax = inFlightMax
    let policy: AddressPolicy
    do throws(AddressBlock.InvalidBlock) {
      policy = try AddressPolicy(allowing: allowedAddressBlocks)
    } catch {
      throw RPCError.invalidField("allowedAddressBlocks", "\(error.text) is not an address block", .outOfRange)
    }
    return HTTPActionSender(policy: policy, limits: limits, nowMs: nowMs, log: log)
  }
}
