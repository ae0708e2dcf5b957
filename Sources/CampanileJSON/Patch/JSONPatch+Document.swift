extension JSONPatch {
  /// Reads a patch document: an array of objects (RFC 6902, section 3). Unknown members of an operation are ignored
  /// (section 4).
  ///
  /// - Throws: `invalidPatch` with the operation's index if `op` is unknown, a path is not a JSON Pointer, or a member
  ///   is missing, of the wrong type or duplicate (appendix A.13). `limitExceeded` for too many operations.
  public init(_ document: JSONValue, limits: Limits = .init()) throws(JSONPatchError) {
    guard case .array(let elements) = document else {
      throw JSONPatchError(.invalidPatch, operationIndex: nil, path: "", reason: "a patch is an array of operations")
    }
    guard elements.count <= limits.operationsMax else {
      throw JSONPatchError(
        .limitExceeded, operationIndex: nil, path: "",
        reason: "\(elements.count) operations; \(limits.operationsMax) are allowed")
    }
    var operations: [Operation] = []
    operations.reserveCapacity(elements.count)
    for (index, element) in elements.enumerated() {
      operations.append(try OperationReader(element, index: index).operation())
    }
    self.init(operations: operations)
  }

  /// Reads a patch document from its text.
  ///
  /// - Throws: Also `invalidPatch` if `bytes` are not a JSON text; the reason includes the position.
  public static func parse(
    _ bytes: [UInt8], limits: Limits = .init(), textLimits: JSONLimits = .init()
  ) throws(JSONPatchError) -> JSONPatch {
    let document: JSONValue
    do {
      document = try JSONValue.parse(bytes, limits: textLimits)
    } catch {
      throw JSONPatchError(.invalidPatch, operationIndex: nil, path: "", reason: error.message)
    }
    return try JSONPatch(document, limits: limits)
  }

  /// The patch as a document.
  public var document: JSONValue { .array(operations.map(\.document)) }

  /// The patch as a JSON text.
  public func serialised() -> [UInt8] { document.serialised() }
}

extension JSONPatch.Operation {
  /// The operation as an object.
  var document: JSONValue {
    func object(_ op: String, _ members: [(String, JSONValue)]) -> JSONValue {
      let all = [("op", JSONValue.string(op))] + members
      return .object(JSONObject(all.map { .init(name: JSONString($0.0), value: $0.1) }))
    }
    func text(_ pointer: JSONPointer) -> JSONValue { .string(pointer.description) }
    switch self {
    case .add(let path, let value): return object("add", [("path", text(path)), ("value", value)])
    case .remove(let path): return object("remove", [("path", text(path))])
    case .replace(let path, let value): return object("replace", [("path", text(path)), ("value", value)])
    case .move(let from, let path): return object("move", [("from", text(from)), ("path", text(path))])
    case .copy(let from, let path): return object("copy", [("from", text(from)), ("path", text(path))])
    case .test(let path, let value): return object("test", [("path", text(path)), ("value", value)])
    }
  }
}

/// Reads one operation.
private struct OperationReader {
  private let members: JSONObject
  private let index: Int

  init(_ element: JSONValue, index: Int) throws(JSONPatchError) {
    self.index = index
    guard case .object(let object) = element else {
      throw JSONPatchError(.invalidPatch, operationIndex: index, path: "", reason: "an operation is an object")
    }
    members = object
  }

  private func invalid(_ reason: String) -> JSONPatchError {
    let path = members["path"]?.text ?? ""
    return JSONPatchError(.invalidPatch, operationIndex: index, path: path, reason: reason)
  }

  private func member(_ name: String) throws(JSONPatchError) -> JSONValue {
    let found = members.members.filter { $0.name.means(name) }
    guard found.count <= 1 else { throw invalid("the member '\(name)' occurs twice") }
    guard let member = found.first else { throw invalid("the member '\(name)' is missing") }
    return member.value
  }

  private func text(_ name: String) throws(JSONPatchError) -> String {
    guard let text = try member(name).text else { throw invalid("the member '\(name)' is not a string") }
    return text
  }

  private func pointer(_ name: String) throws(JSONPatchError) -> JSONPointer {
    let text = try text(name)
    do {
      return try JSONPointer(text)
    } catch {
      throw invalid("the member '\(name)' is not a JSON Pointer: \(error.reason)")
    }
  }

  func operation() throws(JSONPatchError) -> JSONPatch.Operation {
    let op = try text("op")
    let path = try pointer("path")
    switch op {
    case "add": return .add(path: path, value: try member("value"))
    case "remove": return .remove(path: path)
    case "replace": return .replace(path: path, value: try member("value"))
    case "move": return .move(from: try pointer("from"), path: path)
    case "copy": return .copy(from: try pointer("from"), path: path)
    case "test": return .test(path: path, value: try member("value"))
    default: throw invalid("unknown operation '\(op.prefix(32))'")
    }
  }
}
