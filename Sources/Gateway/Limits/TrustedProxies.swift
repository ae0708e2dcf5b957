import CampanileBase

/// The proxies in front of the gateway whose forwarding header is trusted.
///
/// Each proxy appends an address. Entries before the last address that is not a trusted proxy may be forged. Only one
/// header is read, because a proxy that sets one passes the other on as its caller sent it.
public struct TrustedProxies: Sendable, Hashable {
  public enum Header: String, Sendable, Hashable, CaseIterable {
    case forwardedFor = "x-forwarded-for"
    /// RFC 7239.
    case forwarded
  }

  /// Maximum number of hops that are read.
  static let hopsMax = 32

  private let blocks: [AddressBlock]
  package let header: Header

  /// Trusts no proxy.
  public init() { (blocks, header) = ([], .forwardedFor) }

  /// - Parameter blocks: `10.0.0.0/8`, `fd00::/8`, or single addresses. Returns `nil` if one of them is malformed.
  public init?(_ blocks: [String], header: Header = .forwardedFor) {
    guard let blocks = try? AddressBlock.blocks(blocks) else { return nil }
    self.blocks = blocks
    self.header = header
  }

  public var isEmpty: Bool { blocks.isEmpty }

  /// Reports whether the address belongs to a trusted proxy; false for malformed text.
  public func trusts(host: String) -> Bool { !blocks.isEmpty && IPAddress(host).map(trusts) == true }

  func trusts(_ address: IPAddress) -> Bool {
    let address = address.unmapped
    return blocks.contains { $0.contains(address) }
  }

  /// Returns the address that a request comes from.
  ///
  /// - Parameters:
  ///   - peer: The address of the connection.
  ///   - values: The header's values, in order.
  /// - Returns: `nil` if the peer itself is the caller.
  package func client(peer: String, values: [String]) -> String? {
    guard !blocks.isEmpty, let address = IPAddress(peer), trusts(address) else { return nil }
    var nearest: IPAddress?
    for hop in values.flatMap({ $0.split(separator: ",") }).reversed().prefix(Self.hopsMax) {
      // An obfuscated hop cannot be identified: the proxy that reported it counts as the caller.
      guard let address = self.address(in: hop) else { break }
      nearest = address.unmapped
      if !trusts(address) { break }
    }
    return nearest?.text
  }

  private func address(in hop: Substring) -> IPAddress? {
    switch header {
    case .forwardedFor: return Self.host(hop)
    case .forwarded:
      let pairs = hop.split(separator: ";").map { $0.split(separator: "=", maxSplits: 1) }
      let pair = pairs.first { $0.count == 2 && Self.trimmed($0[0]).lowercased() == "for" }
      return pair.flatMap { Self.host($0[1]) }
    }
  }

  /// Parses an address: quoted or not, with or without a port, IPv6 with or without brackets.
  private static func host(_ text: Substring) -> IPAddress? {
    var text = trimmed(text)
    if text.hasPrefix("\""), text.hasSuffix("\""), text.count > 1 { text = text.dropFirst().dropLast() }
    if text.hasPrefix("[") {
      guard let end = text.firstIndex(of: "]") else { return nil }
      return IPAddress(String(text[text.index(after: text.startIndex)..<end]))
    }
    if let address = IPAddress(String(text)) { return address }
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    return parts.count == 2 ? IPAddress(String(parts[0])) : nil
  }

  private static func trimmed(_ text: Substring) -> Substring {
    let front = text.drop { $0 == " " || $0 == "\t" }
    let last = front.lastIndex { $0 != " " && $0 != "\t" }
    return last.map { front[...$0] } ?? front
  }
}
