import CampanileBase
import CampanileService

/// The addresses that the server may call on a user's behalf: those of the public Internet, and those allowed by an
/// operator.
///
/// Rejects all addresses that IANA's special-purpose registries (RFC 6890 and later) do not list as globally reachable.
/// These are loopback, unspecified, private (RFC 1918), shared (RFC 6598), link-local including the metadata address
/// 169.254.169.254, unique local, multicast, broadcast, benchmarking, documentation and reserved. Of IPv6, rejects
/// everything outside `2000::/3` except NAT64.
///
/// A mapped IPv4 address counts as that IPv4 address. The IPv4 address inside a NAT64 or 6to4 address must be public.
/// Teredo is rejected.
struct AddressPolicy: Sendable, Hashable {
  private let allowed: [AddressBlock]

  /// Creates a policy with exceptions.
  ///
  /// - Parameter blocks: Blocks (`10.1.0.0/16`, `fd00::/8`) or addresses that may be called although they would be
  ///   rejected.
  /// - Throws: `AddressBlock.InvalidBlock` for a text that is neither.
  init(allowing blocks: [String]) throws(AddressBlock.InvalidBlock) { allowed = try AddressBlock.blocks(blocks) }

  /// Creates a policy that allows only the public Internet.
  init() { allowed = [] }

  /// Whether the server may connect to the address.
  func allows(_ address: IPAddress) -> Bool {
    let address = address.unmapped
    if allowed.contains(where: { $0.contains(address) }) { return true }
    return address.isIPv4 ? isPublicIPv4(address) : isPublicIPv6(address)
  }

  private func isPublicIPv4(_ address: IPAddress) -> Bool { !Self.refusedIPv4.contains { $0.contains(address) } }

  private func isPublicIPv6(_ address: IPAddress) -> Bool {
    let bytes = address.bytes
    if Self.nat64.contains(where: { $0.contains(address) }) { return isPublicIPv4(IPAddress(ipv4: bytes[12...])) }
    guard Self.globalUnicast.contains(where: { $0.contains(address) }),
      !Self.refusedIPv6.contains(where: { $0.contains(address) })
    else { return false }
    if Self.sixToFour.contains(where: { $0.contains(address) }) { return isPublicIPv4(IPAddress(ipv4: bytes[2..<6])) }
    return true
  }

  private static func blocks(_ texts: [String]) -> [AddressBlock] { texts.compactMap { AddressBlock($0) } }

  private static let nat64 = blocks(["64:ff9b::/96"])
  private static let globalUnicast = blocks(["2000::/3"])
  private static let sixToFour = blocks(["2002::/16"])

  /// RFC 6890, 1122, 1918, 6598, 3927, 6333, 5737, 7526, 2544, 1112.
  private static let refusedIPv4 = blocks([
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
    "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
    "224.0.0.0/4", "240.0.0.0/4",
  ])

  /// Within `2000::/3`: the IETF's protocol assignments including Teredo, which is obsolete (RFC 2928, 4380), and
  /// documentation (RFC 3849, 9637).
  private static let refusedIPv6 = blocks(["2001::/23", "2001:db8::/32", "3fff::/20"])

  /// The number of built-in blocks that were parsed; a test compares it with the number of texts.
  static var blockCount: Int {
    nat64.count + globalUnicast.count + sixToFour.count + refusedIPv4.count + refusedIPv6.count
  }
}
