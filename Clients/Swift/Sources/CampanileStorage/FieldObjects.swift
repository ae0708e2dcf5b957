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

/// A list of messages.
public final class MessagesField<M: ProtoMessage>: FieldObject, @unchecked Sendable {
  public var value: [M]

  public init(_ value: [M]) { self.value = value }

  override class func read(from reader: inout JSONReader) throws(ProtoJSONError) -> FieldObject {
    let list = MessagesField([])
    var more = try reader.beginArray()
    while more {
      list.value.append(try M(from: &reader))
      more = try reader.nextElement()
    }
    return list
  }

  override var isEmpty: Bool { value.isEmpty }

  override func write(to writer: inout JSONWriter) {
    let array = writer.beginArray()
    for element in value {
      writer.nextElement()
      element.encode(to: &writer)
    }
    writer.endArray(array)
  }

  override func isEqual(to other: FieldObject) -> Bool { value == unsafeDowncast(other, to: Self.self).value }
  override func hash(into hasher: inout Hasher) { hasher.combine(value) }
  override func copy() -> FieldObject { MessagesField(value) }
}

/// A list of an enum's values.
public final class EnumsField<E: ProtoEnum>: FieldObject, @unchecked Sendable {
  public var value: [E]

  public init(_ value: [E]) { self.value = value }

  override class func read(from reader: inout JSONReader) throws(ProtoJSONError) -> FieldObject {
    let list = EnumsField([])
    var more = try reader.beginArray()
    while more {
      list.value.append(try reader.enumeration(E.self))
      more = try reader.nextElement()
    }
    return list
  }

  override var isEmpty: Bool { value.isEmpty }

  override func write(to writer: inout JSONWriter) {
    let array = writer.beginArray()
    for element in value {
      writer.nextElement()
      writer.enumeration(element)
    }
    writer.endArray(array)
  }

  override func isEqual(to other: FieldObject) -> Bool { value == unsafeDowncast(other, to: Self.self).value }
  override func hash(into hasher: inout Hasher) { hasher.combine(value) }
  override func copy() -> FieldObject { EnumsField(value) }
}

/// A list of scalars.
public final class ScalarsField<S: FieldScalar>: FieldObject, @unchecked Sendable {
  public var value: [S]

  public init(_ value: [S]) { self.value = value }

  override class func read(from reader: inout JSONReader) throws(ProtoJSONError) -> FieldObject {
    let list = ScalarsField([])
    var more = try reader.beginArray()
    while more {
      list.value.append(try S.read(from: &reader))
      more = try reader.nextElement()
    }
    return list
  }

  override var isEmpty: Bool { value.isEmpty }

  override func write(to writer: inout JSONWriter) {
    let array = writer.beginArray()
    for element in value {
      writer.nextElement()
      element.write(to: &writer)
    }
    writer.endArray(array)
  }

  override func isEqual(to other: FieldObject) -> Bool { value == unsafeDowncast(other, to: Self.self).value }
  override func hash(into hasher: inout Hasher) { hasher.combine(value) }
  override func copy() -> FieldObject { ScalarsField(value) }
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
