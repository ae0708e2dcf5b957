public import CampanileCodec

/// One well-known message, such as a duration.
public final class ValueField<M: ProtoMessage>: FieldObject, @unchecked Sendable {
  public let value: M

  public init(_ value: M) { self.value = value }

  override class func read(from reader: inout JSONReader) throws(ProtoJSONError) -> FieldObject {
    ValueField(try M(from: &reader))
  }

  override func write(to writer: inout JSONWriter) { value.encode(to: &writer) }
  override func isEqual(to other: FieldObject) -> Bool { value == unsafeDowncast(other, to: Self.self).value }
  override func hash(into hasher: inout Hasher) { hasher.combine(value) }
}

/// Bytes.
public final class BytesField: FieldObject, @unchecked Sendable {
  public let value: [UInt8]

  public init(_ value: [UInt8]) { self.value = value }

  override class func read(from reader: inout JSONReader) throws(ProtoJSONError) -> FieldObject {
    BytesField(try reader.bytes())
  }

  override var isEmpty: Bool { value.isEmpty }
  override func write(to writer: inout JSONWriter) { writer.bytes(value) }
  override func isEqual(to other: FieldObject) -> Bool { value == unsafeDowncast(other, to: Self.self).value }
  override func hash(into hasher: inout Hasher) { hasher.combine(value) }
}

/// A list. Its subclasses read and write one element.
public class ListField<Element: Hashable & Sendable>: FieldObject, @unchecked Sendable {
  public final var value: [Element]

  public required init(_ value: [Element]) { self.value = value }

  class func element(from reader: inout JSONReader) throws(ProtoJSONError) -> Element {
    preconditionFailure("not a list's field")
  }

  class func write(_ element: Element, to writer: inout JSONWriter) { preconditionFailure("not a list's field") }

  override final class func read(from reader: inout JSONReader) throws(ProtoJSONError) -> FieldObject {
    let list = Self([])
    var more = try reader.beginArray()
    while more {
      list.value.append(try element(from: &reader))
      more = try reader.nextElement()
    }
    return list
  }

  override final var isEmpty: Bool { value.isEmpty }

  override final func write(to writer: inout JSONWriter) {
    let array = writer.beginArray()
    for element in value {
      writer.nextElement()
      Self.write(element, to: &writer)
    }
    writer.endArray(array)
  }

  override final func isEqual(to other: FieldObject) -> Bool { value == unsafeDowncast(other, to: Self.self).value }
  override final func hash(into hasher: inout Hasher) { hasher.combine(value) }
  override final func copy() -> FieldObject { Self(value) }
}

/// A list of messages.
public final class MessagesField<M: ProtoMessage>: ListField<M>, @unchecked Sendable {
  override class func element(from reader: inout JSONReader) throws(ProtoJSONError) -> M { try M(from: &reader) }
  override class func write(_ element: M, to writer: inout JSONWriter) { element.encode(to: &writer) }
}

/// A list of an enum's values.
public final class EnumsField<E: ProtoEnum>: ListField<E>, @unchecked Sendable {
  override class func element(from reader: inout JSONReader) throws(ProtoJSONError) -> E {
    try reader.enumeration(E.self)
  }

  override class func write(_ element: E, to writer: inout JSONWriter) { writer.enumeration(element) }
}

/// A list of scalars.
public final class ScalarsField<S: FieldScalar>: ListField<S>, @unchecked Sendable {
  override class func element(from reader: inout JSONReader) throws(ProtoJSONError) -> S { try S.read(from: &reader) }
  override class func write(_ element: S, to writer: inout JSONWriter) { element.write(to: &writer) }
}

/// A map from strings to scalars.
public final class MapField<S: FieldScalar>: FieldObject, @unchecked Sendable {
  public var value: [String: S]

  public init(_ value: [String: S]) { self.value = value }

  override class func read(from reader: inout JSONReader) throws(ProtoJSONError) -> FieldObject {
    let map = MapField([:])
    var more = try reader.beginObject()
    while more {
      let key = try reader.stringKey()
      if map.value[key] != nil { throw reader.duplicateKey() }
      map.value[key] = try S.read(from: &reader)
      more = try reader.nextMember()
    }
    return map
  }

  override var isEmpty: Bool { value.isEmpty }

  override func write(to writer: inout JSONWriter) {
    let entries = writer.beginObject()
    // Sorted by key, so that equal messages have equal texts.
    for key in value.keysByUTF8 {
      guard let element = value[key] else { continue }
      writer.key(key)
      element.write(to: &writer)
    }
    writer.endObject(entries)
  }

  override func isEqual(to other: FieldObject) -> Bool { value == unsafeDowncast(other, to: Self.self).value }
  override func hash(into hasher: inout Hasher) { hasher.combine(value) }
  override func copy() -> FieldObject { MapField(value) }
}
