import CampanileService

/// Who may say on whose behalf a request comes: the proxies before the gateway.
///
/// What a proxy adds stands at the end; what stands before the last address that is no proxy's own its caller has made up. Only one
/// header is read: a proxy that writes one leaves the other as its caller sent it.
public struct TrustedProxies: Sendable, Hashable {
  public enum Header: String, Sendable, Hashable, CaseIterable {
    case forwardedFor = "x-forwarded-for"
    /// RFC 7239.
    case forwarded
  }

  /// Hops that are looked at.
  static let hopsMax = 32

  private let blocks: [AddressBlock]
  let header: Header

  /// Nobody is trusted.
  public init() { (blocks, header) = ([], .forwardedFor) }

  /// - Parameter blocks: `10.0.0.0/8`, `fd00::/8`, or single addresses. `nil` for one that cannot be read.
  public init?(_ blocks: [String], header: Header = .forwardedFor) {
    guard let blocks = try? AddressBlock.blocks(blocks) else { return nil }
    self.blocks = blocks
    self.header = header
  }

  public var isEmpty: Bool { blocks.isEmpty }

  func trusts(_ address: IPAddress) -> Bool {
    let address = address.unmapped
    return blocks.contains { $0.contains(address) }
  }

  /// The address that a request comes from.
  ///
  /// - Parameters:
  ///   - peer: the connection's own.
  ///   - values: of the header, in their order.
  /// - Returns: `nil` where it is the peer.
  func client(peer: String, values: [String]) -> String? {
    guard !blocks.isEmpty, let address = IPAddress(peer), trusts(address) else { return nil }
    var nearest: IPAddress?
    for hop in values.flatMap({ $0.split(separator: ",") }).reversed().prefix(Self.hopsMax) {
      // Whoever hides is known by the proxy that it came through.
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

  /// An address, in quotes or not, with a port or not, of IPv6 in brackets or not.
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
