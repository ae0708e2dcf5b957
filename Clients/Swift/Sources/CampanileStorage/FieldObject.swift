public import CampanileCodec

/// A field's value that is stored out of line: a list, a map, bytes, or a message. Its class has the functions of the
/// field's type.
///
/// A base class and not a protocol, because a table of classes is much smaller than one of conformances.
///
public class FieldObject: @unchecked Sendable {
  // `@unchecked`: a message changes only objects that no other message has, so none changes while it is shared. This
  // holds for all subclasses.

  init() {}

  /// Creates the storage of a message in a field of this class.
  class func message() -> MessageStorage { preconditionFailure("not a message's field") }

  /// Reads the number of an enum's value in a field of this class.
  class func number(from reader: inout JSONReader) throws(ProtoJSONError) -> Int32 {
    preconditionFailure("not an enum's field")
  }

  /// Returns the name of an enum's value in a field of this class.
  class func name(of number: Int32) -> StaticString? { preconditionFailure("not an enum's field") }

  /// Reads a value.
  class func read(from reader: inout JSONReader) throws(ProtoJSONError) -> FieldObject {
    preconditionFailure("not an object's field")
  }

  /// Whether a field without presence is omitted.
  var isEmpty: Bool { false }

  func write(to writer: inout JSONWriter) { preconditionFailure("has no value") }
  func isEqual(to other: FieldObject) -> Bool { preconditionFailure("has no value") }
  func hash(into hasher: inout Hasher) { preconditionFailure("has no value") }
  /// Returns an object of its own with the same value.
  func copy() -> FieldObject { preconditionFailure("has no value") }
}

/// The class of a field with one message, whose object is the message's storage.
public final class MessageField<M: ProtoMessage & StoredMessage>: FieldObject, @unchecked Sendable {
  override class func message() -> MessageStorage { M().fieldStorage }
}

/// The class of a field with one value of an enum, which is stored as its number.
public final class EnumField<E: ProtoEnum>: FieldObject, @unchecked Sendable {
  override class func number(from reader: inout JSONReader) throws(ProtoJSONError) -> Int32 {
    try reader.enumeration(E.self).rawValue
  }

  override class func name(of number: Int32) -> StaticString? { E(rawValue: number).protoName }
}
