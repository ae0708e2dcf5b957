public import CampanileCodec

/// A message of the contract as apps have it: a table of its fields, and a storage that copies share until one of them
/// is changed.
///
/// `protoc-gen-campanile` generates conforming types with `Storage=tables`. Code that is generated for each field, as
/// servers have it, would be several times as large.
public protocol StoredMessage: ProtoMessage {
  /// The table of the fields.
  static var layout: MessageLayout { get }
  /// The values of the fields.
  var fieldStorage: MessageStorage { get }
  init(fieldStorage: MessageStorage)
}

extension StoredMessage {
  public static var protoFullName: String { layout.name.description }

  public init(from reader: inout JSONReader) throws(ProtoJSONError) {
    self.init(fieldStorage: try Self.layout.decode(&reader))
  }

  public func encode(to writer: inout JSONWriter) { fieldStorage.encode(to: &writer) }

  public static func == (left: Self, right: Self) -> Bool { left.fieldStorage.equals(right.fieldStorage) }

  public func hash(into hasher: inout Hasher) { fieldStorage.combine(into: &hasher) }
}
