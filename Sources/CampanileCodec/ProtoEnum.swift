/// An enum of a proto3 contract. It is open: a number that the contract does not name is kept.
public protocol ProtoEnum: Sendable, Hashable {
  /// The value with number 0.
  init()
  /// The value with this number: a named case if there is one, else `unrecognized`.
  init(rawValue: Int32)
  /// The number.
  var rawValue: Int32 { get }
  /// The name in the proto, or nil if the contract does not name this number.
  var protoName: StaticString? { get }
  /// The number that the proto gives to `name`, or nil if it has no such name.
  static func number(named name: JSONName) -> Int32?
}

/// A value that is kept out of line, so that a message may hold itself.
public struct Indirect<Wrapped: Sendable & Hashable>: Sendable, Hashable {
  final class Storage: Sendable {
    let value: Wrapped
    init(_ value: Wrapped) { self.value = value }
  }

  private let storage: Storage

  public init(_ value: Wrapped) {
    storage = Storage(value)
  }

  /// The value.
  public var value: Wrapped { storage.value }

  public static func == (left: Self, right: Self) -> Bool {
    left.storage === right.storage || left.storage.value == right.storage.value
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(storage.value)
  }
}
