public import CampanileCodec

/// A message of the contract as apps have it: a struct whose only stored property is the storage of its fields, which
/// copies share until one of them is changed.
///
/// `protoc-gen-campanile` generates conforming types with `Storage=tables`. Code that is generated for each field, as
/// servers have it, would be several times as large. For the same reason the protocol has no requirements and refines
/// none: each of them would add functions to every message.
public protocol StoredMessage {}

extension StoredMessage {
  /// The values of the fields.
  @inlinable
  public var fieldStorage: MessageStorage { bitCast(self, to: MessageStorage.self) }

  @inlinable
  public init(fieldStorage: MessageStorage) { self = bitCast(fieldStorage, to: Self.self) }

  /// Returns storage that may be changed: the message's own, if no other message has it, or else a copy.
  @inlinable
  public mutating func uniqueStorage() -> MessageStorage {
    withUnsafeMutableBytes(of: &self) { MessageStorage.unique($0) }
  }

  public static func == (left: Self, right: Self) -> Bool { left.fieldStorage.equals(right.fieldStorage) }

  public func hash(into hasher: inout Hasher) { fieldStorage.combine(into: &hasher) }

  // The compiler would generate this for each message.
  public var hashValue: Int { fieldStorage.hashValue }
}

extension StoredMessage where Self: ProtoMessage {
  public static var protoFullName: String { Self().fieldStorage.table.name }

  public init(from reader: inout JSONReader) throws(ProtoJSONError) {
    self.init()
    try fieldStorage.decode(&reader)
  }

  public func encode(to writer: inout JSONWriter) { fieldStorage.encode(to: &writer) }
}

// `unsafeDowncast`, which the compiler recommends instead, is for classes. Messages are structs.
@inlinable
func bitCast<From, To>(_ value: From, to type: To.Type) -> To { unsafeBitCast(value, to: type) }
