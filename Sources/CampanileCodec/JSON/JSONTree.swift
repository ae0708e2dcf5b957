/// A JSON value that is built in steps. Keys are written in sorted order, so that equal trees produce equal text.
package enum JSONTree: Sendable, Hashable {
  case object([String: JSONTree])
  case array([JSONTree])
  case string(String)
  case bool(Bool)
  case null
  case integer(Int64)
  /// Finite.
  case double(Double)

  /// Sets a member of an object; does nothing to other values.
  package mutating func set(_ name: String, _ value: JSONTree) {
    guard case .object(var members) = self else { return }
    members[name] = value
    self = .object(members)
  }

  package func write(to writer: inout JSONWriter) {
    switch self {
    case .string(let text): writer.string(text)
    case .bool(let value): writer.bool(value)
    case .null: writer.append(raw: "null")
    case .integer(let value): writer.number(value)
    case .double(let value): writer.double(value)
    case .array(let values):
      let array = writer.beginArray()
      for value in values {
        writer.nextElement()
        value.write(to: &writer)
      }
      writer.endArray(array)
    case .object(let members):
      let object = writer.beginObject()
      for key in members.keysByUTF8 {
        writer.key(key)
        members[key]?.write(to: &writer)
      }
      writer.endObject(object)
    }
  }
}
