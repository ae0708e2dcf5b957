import CampanileCodec

extension MessageStorage {
  /// Reads a message into new storage.
  func decode(_ reader: inout JSONReader) throws(ProtoJSONError) {
    let table = table
    var seen: UInt64 = 0
    var more = try reader.beginObject()
    while more {
      let index = try reader.field(table.index(of: try reader.key()), &seen)
      if index >= 0 { try read(index, &reader) }
      more = try reader.nextMember()
    }
  }

  /// Reads the value of a field that is absent.
  @inline(__always)
  fileprivate func read(_ index: Int, _ reader: inout JSONReader) throws(ProtoJSONError) {
    let field = table.fields + index
    if field.pointee.siblings & present != 0 { throw reader.oneofConflict() }
    let keepsDefault = field.pointee.hasPresence
    switch field.pointee.kind {
    case .string:
      let value = try reader.string()
      if keepsDefault || !value.isEmpty { start(index, value) }
    case .timestamp: start(index, try ProtoTimestamp(from: &reader))
    case .enumeration:
      let number = try field.pointee.type.number(from: &reader)
      if keepsDefault || number != 0 { start(index, number) }
    case .message:
      let message = field.pointee.type.message()
      try message.decode(&reader)
      start(index, message as FieldObject)
    case .object:
      let value = try field.pointee.type.read(from: &reader)
      if keepsDefault || !value.isEmpty { start(index, value) }
    case .bool:
      let value = try reader.bool()
      if keepsDefault || value { start(index, value) }
    case .int32:
      let value = try reader.int32()
      if keepsDefault || value != 0 { start(index, value) }
    case .int64:
      let value = try reader.int64()
      if keepsDefault || value != 0 { start(index, value) }
    case .uint32:
      let value = try reader.uint32()
      if keepsDefault || value != 0 { start(index, value) }
    case .uint64:
      let value = try reader.uint64()
      if keepsDefault || value != 0 { start(index, value) }
    case .double:
      let value = try reader.double()
      if keepsDefault || value.bitPattern != 0 { start(index, value) }
    case .float:
      let value = try reader.float()
      if keepsDefault || value.bitPattern != 0 { start(index, value) }
    }
  }

  func encode(to writer: inout JSONWriter) {
    let object = writer.beginObject()
    for index in Bits(present) {
      let field = table.fields + index
      writer.append(raw: UnsafeRawBufferPointer(field.pointee.member))
      switch field.pointee.kind {
      case .string: writer.string(slot(index, String.self).pointee)
      case .timestamp: slot(index, ProtoTimestamp.self).pointee.encode(to: &writer)
      case .enumeration: write(field.pointee.type, number: slot(index, Int32.self).pointee, &writer)
      case .message, .object: slot(index, FieldObject.self).pointee.write(to: &writer)
      case .bool: writer.bool(slot(index, Bool.self).pointee)
      case .int32: writer.int32(slot(index, Int32.self).pointee)
      case .int64: writer.int64(slot(index, Int64.self).pointee)
      case .uint32: writer.uint32(slot(index, UInt32.self).pointee)
      case .uint64: writer.uint64(slot(index, UInt64.self).pointee)
      case .double: writer.double(slot(index, Double.self).pointee)
      case .float: writer.float(slot(index, Float.self).pointee)
      }
    }
    writer.endObject(object)
  }

  private func write(_ type: FieldObject.Type, number: Int32, _ writer: inout JSONWriter) {
    guard let name = type.name(of: number) else { return writer.int32(number) }
    writer.append(UInt8(ascii: "\""))
    writer.append(raw: name)
    writer.append(UInt8(ascii: "\""))
  }
}
