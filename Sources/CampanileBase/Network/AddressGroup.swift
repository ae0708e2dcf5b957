/// The unit of per-address limits: an IPv4 address, or the /64 of an IPv6 address, which belongs to one customer (RFC
/// 6177).
public enum AddressGroup {
  /// Returns the group of an address without brackets or port; other text is its own group.
  ///
  /// An IPv4-mapped IPv6 address counts as the IPv4 address. Otherwise all IPv4 callers of a dual-stack socket would
  /// share `0:0:0:0::/64`.
  public static func name(of host: String) -> String {
    // Most hosts are IPv4 addresses or names, whose text is their group.
    guard host.utf8.contains(UInt8(ascii: ":")), let address = IPAddress(zoned: host)?.unmapped else { return host }
    return address.isIPv4 ? address.text : address.groups[..<4].joined(separator: ":") + "::/64"
  }
}
