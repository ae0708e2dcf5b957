public import CampanileBase

/// The metadata of a call: string keys, each with one or more string values, in order of insertion.
///
/// Keys are `[0-9a-z_.-]+`; all keys and values together have at most 8 KiB. The prefix `campanile-` is reserved for
/// the suite: a gateway removes it from outside calls, and a service accepts it on trusted connections only.
public struct Metadata: Sendable {
  public struct Entry: Sendable, Hashable {
    public let key: String
    public let value: String

    @inlinable
    package init(key: String, value: String) {
      self.key = key
      self.value = value
    }
  }
  @usableFromInline var kept: [Entry] = []
  /// The last entry of a forwarded call in undecoded form, because most calls are served without reading it.
  @usableFromInline var requestID: RequestID?

  @inlinable public var entries: [Entry] {
    guard let requestID else { return kept }
    return kept + [Entry(key: Self.requestIDKey, value: requestID.text)]
  }

  /// The maximum number of bytes of all keys and values together.
  @inlinable public static var sizeBytesMax: Int { 8192 }
  /// The maximum number of values of all keys together.
  @inlinable public static var entryCountMax: Int { 128 }
  @inlinable public static var reservedPrefix: String { "campanile-" }
  /// The key of the unique request id that a gateway assigns to each call.
  @inlinable public static var requestIDKey: String { "campanile-request-id" }

  @inlinable
  public init() {}

  /// Appends a request id to `base`, which has none.
  @inlinable
  package init(_ base: Metadata, requestID: RequestID) {
    self = base
    self.requestID = requestID
  }

  @inlinable public var isEmpty: Bool { kept.isEmpty && requestID == nil }
  /// The number of bytes of all keys and values.
  public var sizeBytes: Int { entries.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count } }

  /// Returns the first value of a key.
  @inlinable
  public subscript(key: String) -> String? {
    if let index = index(of: key) { return kept[index].value }
    return key == Self.requestIDKey ? requestID?.text : nil
  }

  /// Returns the index of a key's first value, except an undecoded request id. Copies no entry and compares few
  /// strings.
  @inlinable
  @inline(__always)
  package func index(of key: String) -> Int? {
    let sizeBytes = key.utf8.count
    for index in kept.indices where kept[index].key.utf8.count == sizeBytes && kept[index].key == key { return index }
    return nil
  }

  /// Returns every value of a key, in order.
  public func values(_ key: String) -> [String] { entries.compactMap { $0.key == key ? $0.value : nil } }

  /// Adds a value to those of the key. Invalid metadata is rejected when the call is made.
  public mutating func add(_ value: String, for key: String) {
    spellOut()
    kept.append(Entry(key: key, value: value))
  }

  /// Makes `value` the only value of `key`.
  public mutating func set(_ value: String, for key: String) {
    remove(key)
    add(value, for: key)
  }

  public mutating func remove(_ key: String) {
    guard requestID != nil || index(of: key) != nil else { return }
    spellOut()
    kept.removeAll { $0.key == key }
  }

  /// Removes every key with the reserved prefix.
  public mutating func removeReserved() {
    requestID = nil
    guard kept.contains(where: { $0.key.hasPrefix(Self.reservedPrefix) }) else { return }
    kept.removeAll { $0.key.hasPrefix(Self.reservedPrefix) }
  }

  private mutating func spellOut() {
    kept = entries
    requestID = nil
  }

  /// Returns whether a key is valid.
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

  /// Returns the reason why the metadata cannot be sent, or `nil`.
  public func fault() -> RPCError? {
    if let bad = entries.first(where: { !Self.isValidKey($0.key) }) {
      return .invalidField(
        "metadata", "the key \(bad.key.debugDescription) contains characters other than 0-9 a-z _ . -",
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

extension Metadata: Hashable {
  public static func == (a: Metadata, b: Metadata) -> Bool { a.entries == b.entries }
  public func hash(into hasher: inout Hasher) { hasher.combine(entries) }
}

extension Metadata: ExpressibleByDictionaryLiteral {
  public init(dictionaryLiteral elements: (String, String)...) {
    for (key, value) in elements { add(value, for: key) }
  }
}
