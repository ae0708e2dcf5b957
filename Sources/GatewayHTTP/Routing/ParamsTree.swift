import CampanileCodec
import CampanileRPC

/// The members bound by path, query and headers, as a tree that is merged into the request's body.
struct ParamsTree: Sendable, Hashable {
  enum Node: Sendable, Hashable {
    /// The JSON text of a value.
    case value(String)
    /// The values of a repeated field so far.
    case list([String])
    case object(ParamsTree)
  }

  /// A member with both of its names, because a body may use either.
  struct Member: Sendable, Hashable {
    var jsonName: String
    var name: String
    var node: Node
  }
  private(set) var members: [Member] = []

  var isEmpty: Bool { members.isEmpty }

  /// Sets the value at a path of fields, or appends it to a repeated field. Returns false if the field is already set,
  /// or if a field on the path has a value that is not an object.
  mutating func bind(_ path: ArraySlice<FieldSchema>, _ json: String) -> Bool {
    guard let field = path.first else { return false }
    let index = members.firstIndex { $0.jsonName == field.jsonName }
    if path.count > 1 {
      var inner = ParamsTree()
      if let index {
        guard case .object(let known) = members[index].node else { return false }
        inner = known
      }
      guard inner.bind(path.dropFirst(), json) else { return false }
      set(field, index, .object(inner))
    } else if field.isRepeated {
      var list: [String] = []
      if let index, case .list(let known) = members[index].node { list = known }
      set(field, index, .list(list + [json]))
    } else {
      guard index == nil else { return false }
      set(field, index, .value(json))
    }
    return true
  }

  private mutating func set(_ field: FieldSchema, _ index: Int?, _ node: Node) {
    let member = Member(jsonName: field.jsonName, name: field.name, node: node)
    if let index { members[index] = member } else { members.append(member) }
  }

  mutating func remove(_ jsonName: String) { members.removeAll { $0.jsonName == jsonName } }

  // MARK: writing

  /// Writes the tree merged into a value. A value that is not an object is written unchanged, so that the service
  /// rejects it.
  func writeMerged(to writer: inout JSONWriter, over value: UnsafeRawBufferPointer) {
    if RawJSON.members(value, 0..<value.count) == nil {
      writer.append(raw: value)
    } else {
      write(to: &writer, over: value)
    }
  }

  /// Writes the tree as one object.
  ///
  /// - Parameter body: A validated JSON object to merge the tree into. The tree's members take precedence, because they
  ///   come from the URL.
  func write(to writer: inout JSONWriter, over body: UnsafeRawBufferPointer? = nil) {
    let object = writer.beginObject()
    var left = members
    if let body {
      for member in RawJSON.members(body, 0..<body.count) ?? [] {
        let value = UnsafeRawBufferPointer(rebasing: body[member.value])
        guard let index = left.firstIndex(where: { $0.jsonName == member.name || $0.name == member.name }) else {
          writer.key(member.name)
          writer.append(raw: value)
          continue
        }
        // Duplicate members stay in the result, so that the service rejects them.
        if case .object(let inner) = left[index].node, !value.isJSONNull {
          writer.key(left[index].jsonName)
          inner.writeMerged(to: &writer, over: value)
          left.remove(at: index)
        }
      }
    }
    for member in left {
      writer.key(member.jsonName)
      member.node.write(to: &writer)
    }
    writer.endObject(object)
  }
}

extension ParamsTree.Node {
  func write(to writer: inout JSONWriter) {
    switch self {
    case .value(let json): writer.append(raw: json)
    case .object(let tree): tree.write(to: &writer)
    case .list(let values):
      let array = writer.beginArray()
      for value in values {
        writer.nextElement()
        writer.append(raw: value)
      }
      writer.endArray(array)
    }
  }
}

extension UnsafeRawBufferPointer {
  /// Whether a JSON value is null, which means an absent field.
  var isJSONNull: Bool {
    let isSpace: (UInt8) -> Bool = { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
    return drop(while: isSpace).prefix { !isSpace($0) }.elementsEqual("null".utf8)
  }
}
