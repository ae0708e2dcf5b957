#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// An IPv4 or IPv6 address, as four or sixteen bytes.
public struct IPAddress: Sendable, Hashable {
  public let bytes: [UInt8]

  public var isIPv4: Bool { bytes.count == 4 }

  /// Parses `192.0.2.1` or `2001:db8::1`. Returns nil for any other text, including short forms such as `127.1`.
  public init?(_ text: String) {
    // No address is longer, and a NUL would end the C string early.
    guard text.utf8.count <= 45, !text.utf8.contains(0) else { return nil }
    var bytes = [UInt8](repeating: 0, count: 16)
    if inet_pton(AF_INET, text, &bytes) == 1 {
      self.bytes = Array(bytes[..<4])
    } else if inet_pton(AF_INET6, text, &bytes) == 1 {
      self.bytes = bytes
    } else {
      return nil
    }
  }

  /// The address in the form that `init(_:)` parses; for IPv6, all eight groups.
  public var text: String {
    if isIPv4 { return bytes.map { String($0) }.joined(separator: ".") }
    return groups.joined(separator: ":")
  }

  /// The eight groups of an IPv6 address, without leading zeros.
  var groups: [String] {
    stride(from: 0, to: 16, by: 2).map { String(UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]), radix: 16) }
  }

  /// Parses an address with an optional zone, as in `fe80::1%eth0`. The zone is dropped.
  public init?(zoned text: String) {
    self.init(String(text.prefix { $0 != "%" }))
  }

  /// Returns the IPv4 address inside the text of an IPv4-mapped IPv6 address (RFC 4291 section 2.5.5.2); any other text
  /// unchanged.
  public static func unmapped(_ text: Substring) -> Substring {
    text.hasPrefix("::ffff:") && text.contains(".") ? text.dropFirst(7) : text
  }

  /// Creates an IPv4 address from its four bytes.
  public init(ipv4 bytes: ArraySlice<UInt8>) { self.bytes = Array(bytes) }

  /// The IPv4 address inside `::ffff:192.0.2.1`; any other address unchanged.
  public var unmapped: IPAddress {
    guard bytes.count == 16, bytes[..<10].allSatisfy({ $0 == 0 }), bytes[10] == 0xFF, bytes[11] == 0xFF else {
      return self
    }
    return IPAddress(ipv4: bytes[12...])
  }
}

/// A block of addresses: `10.0.0.0/8`, `fd00::/8`, or a single address.
public struct AddressBlock: Sendable, Hashable {
  public let address: IPAddress
  public let prefixBits: Int

  /// Parses an address with an optional prefix length; returns nil for any other text. Bits after the prefix are
  /// ignored.
  public init?(_ text: String) {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard let first = parts.first, let address = IPAddress(String(first)) else { return nil }
    let width = address.bytes.count * 8
    guard parts.count == 2 else {
      self.init(address, prefixBits: width)
      return
    }
    let digits = parts[1].utf8
    guard (1...3).contains(digits.count), digits.allSatisfy({ (0x30...0x39).contains($0) }), let bits = Int(parts[1]),
      bits <= width
    else { return nil }
    self.init(address, prefixBits: bits)
  }

  private init(_ address: IPAddress, prefixBits: Int) {
    self.address = address
    self.prefixBits = prefixBits
  }

  /// Parses several blocks. Throws `InvalidBlock` for the first invalid text.
  public static func blocks(_ texts: [String]) throws(InvalidBlock) -> [AddressBlock] {
    var blocks: [AddressBlock] = []
    for text in texts {
      guard let block = AddressBlock(text) else { throw InvalidBlock(text: text) }
      blocks.append(block)
    }
    return blocks
  }

  /// A text that is not an address block.
  public struct InvalidBlock: Error, Sendable, Hashable {
    public var text: String

    public init(text: String) { self.text = text }
  }

  /// Whether an address of the same family is in the block.
  public func contains(_ other: IPAddress) -> Bool {
    guard other.bytes.count == address.bytes.count else { return false }
    let whole = prefixBits / 8
    guard address.bytes[..<whole] == other.bytes[..<whole] else { return false }
    let rest = prefixBits % 8
    return rest == 0 || (address.bytes[whole] ^ other.bytes[whole]) >> (8 - rest) == 0
  }
}
