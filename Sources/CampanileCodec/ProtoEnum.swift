/// An enum of a proto3 contract. Enums are open: unknown numbers are preserved, and unknown names become
/// `JSONReader.unknownEnumNumber`.
public protocol ProtoEnum: Sendable, Hashable {
  /// The value with number 0.
  init()
  /// Creates the value with this number: a named case if there is one, otherwise `unrecognized`.
  init(rawValue: Int32)
  /// The number.
  var rawValue: Int32 { get }
  /// The name in the proto, or nil for an unknown number.
  var protoName: StaticString? { get }
  /// Returns the number of `name` in the proto, or nil for an unknown name.
  static func number(named name: JSONName) -> Int32?
}

/// A value stored out of line, so that a message may contain itself.
public struct Indirect<Wrapped: Sendable & Hashable>: Sendable, Hashable {
  final class Storage: Sendable {
    let value: Wrapped
    init(_ value: Wrapped) { self.value = value }
  }

  private let storage: Storage

  public init(_ value: Wrapped) {
    storage = Storage(value)
  }

  public var value: Wrapped { storage.value }

  public static func == (left: Self, right: Self) -> Bool {
    left.storage === right.storage || left.storage.value == right.storage.value
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(storage.value)
  }
}
