/// What travels beside a call's message: string keys, each with one or more string values, in the order they were added.
///
/// Keys are `[0-9a-z_.-]+`; all keys and values together are at most 8 KiB. The prefix `campanile-` is reserved for the
/// suite: a gateway strips it from outside calls and a service believes it on trusted links only.
public struct Metadata: Sendable, Hashable {
  public struct Entry: Sendable, Hashable {
    public let key: String
    public let value: String
  }
  public private(set) var entries: [Entry] = []

  /// The most bytes that keys and values may have together.
  public static let sizeBytesMax = 8192
  /// The most values that all keys may have together.
  public static let entryCountMax = 128
  public static let reservedPrefix = "campanile-"

  public init() {}

  public var isEmpty: Bool { entries.isEmpty }
  /// The bytes of all keys and values.
  public var sizeBytes: Int { entries.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count } }

  /// The first value of a key.
  public subscript(key: String) -> String? { entries.first { $0.key == key }?.value }
  /// Every value of a key, in order.
  public func values(_ key: String) -> [String] { entries.compactMap { $0.key == key ? $0.value : nil } }

  /// Adds a value and keeps those that the key has. What is not sendable is refused when the call is made.
  public mutating func add(_ value: String, for key: String) { entries.append(Entry(key: key, value: value)) }

  /// Makes `value` the only value of `key`.
  public mutating func set(_ value: String, for key: String) {
    remove(key)
    add(value, for: key)
  }

  public mutating func remove(_ key: String) { entries.removeAll { $0.key == key } }

  /// Removes every key with the reserved prefix.
  public mutating func removeReserved() { entries.removeAll { $0.key.hasPrefix(Self.reservedPrefix) } }

  /// Whether a key is one that may be sent.
  public static func isValidKey(_ key: String) -> Bool {
    !key.isEmpty
      && key.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "-"): true
        default: false
        }
      }
  }

  /// What keeps this metadata from being sent, or `nil`.
  public func fault() -> RPCError? {
    if let bad = entries.first(where: { !Self.isValidKey($0.key) }) {
      return .invalidField(
        "metadata", "the key \(bad.key.debugDescription) has other characters than 0-9 a-z _ . -",
        reason: "METADATA_KEY_INVALID")
    }
    if sizeBytes > Self.sizeBytesMax || entries.count > Self.entryCountMax {
      return .invalidField(
        "metadata", "more than \(Self.sizeBytesMax) bytes or \(Self.entryCountMax) values", reason: "METADATA_TOO_LARGE"
      )
    }
    return nil
  }
}

extension Metadata: ExpressibleByDictionaryLiteral {
  public init(dictionaryLiteral elements: (String, String)...) {
    for (key, value) in elements { add(value, for: key) }
  }
}
