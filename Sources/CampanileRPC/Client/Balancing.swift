/// The use of several addresses by a client.
public struct Balancing: Sendable, Hashable {
  enum Code: Sendable, Hashable { case failover, everyAddress }
  let code: Code

  /// Connects to one address, and to the next one when it fails.
  public static let failover = Balancing(code: .failover)

  /// Connects to every address, and sends each call on the connection with the fewest open calls; equals in turn.
  ///
  /// A name stands for all addresses to which it resolves, at most 16. Names are resolved again every
  /// `ClientConfiguration.resolveInterval`. If an address is no longer found, its open calls finish. An address that
  /// cannot be reached is tried again with backoff, and gets no calls meanwhile.
  public static let everyAddress = Balancing(code: .everyAddress)
}
