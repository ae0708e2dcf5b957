import Foundation

/// An IPv4 or IPv6 address: its four or sixteen bytes.
public struct IPAddress: Sendable, Hashable {
  public let bytes: [UInt8]

  public var isIPv4: Bool { bytes.count == 4 }

  /// Reads `192.0.2.1` or `2001:db8::1`; nil for everything else, short forms such as `127.1` among it.
  public init?(_ text: String) {
    // Longer than any address, and a NUL would end the text early for C.
    guard text.utf8.count <= 45, !TextRules.hasNull(text) else { return nil }
    var bytes = [UInt8](repeating: 0, count: 16)
    if inet_pton(AF_INET, text, &bytes) == 1 {
      self.bytes = Array(bytes[..<4])
    } else if inet_pton(AF_INET6, text, &bytes) == 1 {
      self.bytes = bytes
    } else {
      return nil
    }
  }

  /// The address as `init(_:)` reads it; of IPv6 the eight groups in full.
  public var text: String {
    if isIPv4 { return bytes.map { String($0) }.joined(separator: ".") }
    return stride(from: 0, to: 16, by: 2)
      .map { String(UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]), radix: 16) }
      .joined(separator: ":")
  }

  /// Of its four bytes.
  public init(ipv4 bytes: ArraySlice<UInt8>) { self.bytes = Array(bytes) }

  /// `::ffff:192.0.2.1` as the IPv4 address that it is; all others as they are.
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

  /// Nil unless `text` is an address and, when there is a slash, a number of bits that it has. Bits behind the prefix do
  /// not matter.
  public init?(_ text: String) {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard let first = parts.first, let address = IPAddress(String(first)) else { return nil }
    let width = address.bytes.count * 8
    guard parts.count == 2 else {
      self.init(address, prefixBits: width)
      return
    }
    let digits = parts[1].utf8
    guard (1...3).contains(digits.count), digits.allSatisfy(TextRules.isDigit), let bits = Int(parts[1]), bits <= width
    else { return nil }
    self.init(address, prefixBits: bits)
  }

  private init(_ address: IPAddress, prefixBits: Int) {
    self.address = address
    self.prefixBits = prefixBits
  }

  /// The blocks that texts say. Throws `InvalidBlock` for one that says none.
  public static func blocks(_ texts: [String]) throws(InvalidBlock) -> [AddressBlock] {
    var blocks: [AddressBlock] = []
    for text in texts {
      guard let block = AddressBlock(text) else { throw InvalidBlock(text: text) }
      blocks.append(block)
    }
    return blocks
  }

  /// A text that is no block.
  public struct InvalidBlock: Error, Sendable, Hashable {
    public var text: String

    public init(text: String) { self.text = text }
  }

  /// Whether an address of the same family begins with the block's prefix.
  public func contains(_ other: IPAddress) -> Bool {
    guard other.bytes.count == address.bytes.count else { return false }
    let whole = prefixBits / 8
    guard address.bytes[..<whole] == other.bytes[..<whole] else { return false }
    let rest = prefixBits % 8
    return rest == 0 || (address.bytes[whole] ^ other.bytes[whole]) >> (8 - rest) == 0
  }
}
