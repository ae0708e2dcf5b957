import CampanileCodec
import CampanileRPC

/// The members that path, query and headers bind, as a tree that is laid over the request's body.
struct ParamsTree: Sendable, Hashable {
  enum Node: Sendable, Hashable {
    /// JSON text of a value.
    case value(String)
    /// A repeated field's values so far.
    case list([String])
    case object(ParamsTree)
  }

  /// By JSON name, with the proto's name, which a body may use as well.
  struct Member: Sendable, Hashable {
    var jsonName: String
    var name: String
    var node: Node
  }
  private(set) var members: [Member] = []

  var isEmpty: Bool { members.isEmpty }

  /// Sets the value at a path of fields; a repeated field gets one more. False when a value stands where an object must.
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

  /// Writes the tree as one object. Where `body` is given, an object that was checked, its members are kept but for those
  /// that the tree has too: what stands in the URL counts.
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
        // A member that comes twice is left twice, for the service to refuse.
        if case .object(let inner) = left[index].node, RawJSON.members(value, 0..<value.count) != nil {
          writer.key(left[index].jsonName)
          inner.write(to: &writer, over: value)
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
