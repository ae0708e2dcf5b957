extension JSONPatch {
  /// Applies all operations in order to a copy of `document` (RFC 6902, section 5). Either all or none are applied.
  ///
  /// A duplicate name refers to the last member with it; removing the name removes all of them.
  ///
  /// - Throws: `JSONPatchError` with the index, the path and the reason of the first operation that fails.
  public func apply(to document: JSONValue, limits: Limits = .init()) throws(JSONPatchError) -> JSONValue {
    guard operations.count <= limits.operationsMax else {
      throw JSONPatchError(
        .limitExceeded, operationIndex: nil, path: "",
        reason: "\(operations.count) operations; \(limits.operationsMax) are allowed")
    }
    var applier = PatchApplier(document: document, limits: limits)
    for (index, operation) in operations.enumerated() { try applier.apply(operation, index: index) }
    return applier.document
  }
}

/// Applies operations to a copy of a document.
private struct PatchApplier {
  var document: JSONValue
  private let depthMax: Int
  private var addedBytesLeft: Int
  private var workLeft: Int
  private var index = 0

  init(document: JSONValue, limits: JSONPatch.Limits) {
    self.document = document
    depthMax = limits.depthMax
    addedBytesLeft = limits.addedBytesMax
    workLeft = limits.workMax
  }

  mutating func apply(_ operation: JSONPatch.Operation, index: Int) throws(JSONPatchError) {
    self.index = index
    switch operation {
    case .add(let path, let value): try add(value, at: path)
    case .remove(let path): _ = try remove(at: path)
    case .replace(let path, let value): try replace(at: path, with: value)
    case .move(let from, let path):
      if from.isPrefix(of: path) {
        // Moving a value to its own location changes nothing, but the value must exist.
        _ = try value(at: from)
        guard from.tokens.count == path.tokens.count else {
          throw error(.moveIntoChild, path, "a value cannot be moved into itself")
        }
        return
      }
      let moved = try remove(at: from)
      try checkDepth(of: moved, at: path)
      try insert(moved, at: path)
    case .copy(let from, let path): try add(try value(at: from), at: path)
    case .test(let path, let expected):
      let found = try value(at: path)
      try work(expected.sizeBytes(atMost: workLeft), path)
      guard found == expected else { throw error(.testFailed, path, "the value differs") }
    }
  }

  private func error(_ code: JSONPatchError.Code, _ path: JSONPointer, _ reason: String) -> JSONPatchError {
    JSONPatchError(code, operationIndex: index, path: path.description, reason: reason)
  }

  private mutating func work(_ amount: Int?, _ path: JSONPointer) throws(JSONPatchError) {
    guard let amount, amount <= workLeft else { throw error(.limitExceeded, path, "the patch exceeds the work limit") }
    workLeft -= amount
  }

  private mutating func value(at path: JSONPointer) throws(JSONPatchError) -> JSONValue {
    var value = document
    for (position, token) in path.tokens.enumerated() {
      switch value {
      case .object(let object):
        try work(object.members.count + 1, path)
        guard let member = object[token] else { throw missing(path, position) }
        value = member
      case .array(let elements):
        let index = try element(token, elements.count, path)
        guard index < elements.count else { throw beyond(path, elements.count) }
        value = elements[index]
      default: throw missing(path, position)
      }
    }
    return value
  }

  /// Only `add` may use the index after the last element.
  private func element(_ token: String, _ count: Int, _ path: JSONPointer) throws(JSONPatchError) -> Int {
    if token == "-" { return count }
    guard let index = JSONPointer.index(token) else {
      throw error(.invalidIndex, path, "'\(token)' is not an array index")
    }
    return index
  }

  private func missing(_ path: JSONPointer, _ position: Int) -> JSONPatchError {
    error(.notFound, path, "there is no \"\(path.prefix(position + 1))\"")
  }

  private func beyond(_ path: JSONPointer, _ count: Int) -> JSONPatchError {
    error(.invalidIndex, path, "the array has \(count) elements")
  }

  private mutating func add(_ value: JSONValue, at path: JSONPointer) throws(JSONPatchError) {
    try grow(by: value, at: path)
    try insert(value, at: path)
  }

  private mutating func insert(_ value: JSONValue, at path: JSONPointer) throws(JSONPatchError) {
    guard let last = path.tokens.last else { return document = value }
    try edit(path) { (applier, container) throws(JSONPatchError) in
      switch container {
      case .object(var object):
        container = .null
        object[last] = value
        container = .object(object)
      case .array(var elements):
        let index = try applier.element(last, elements.count, path)
        guard index <= elements.count else { throw applier.beyond(path, elements.count) }
        container = .null
        elements.insert(value, at: index)
        container = .array(elements)
      default: throw applier.missing(path, path.tokens.count - 1)
      }
    }
  }

  /// Checks the size of `value` before it is added: repeated copies can double the document each time.
  private mutating func grow(by value: JSONValue, at path: JSONPointer) throws(JSONPatchError) {
    guard let size = value.sizeBytes(atMost: addedBytesLeft) else {
      throw error(.limitExceeded, path, "the patch makes the document too large")
    }
    addedBytesLeft -= size
    try checkDepth(of: value, at: path)
  }

  private mutating func checkDepth(of value: JSONValue, at path: JSONPointer) throws(JSONPatchError) {
    try work(value.sizeBytes(atMost: workLeft), path)
    guard path.tokens.count <= depthMax, value.depth(atMost: depthMax - path.tokens.count) != nil else {
      throw error(.limitExceeded, path, "the document becomes more than \(depthMax) levels deep")
    }
  }

  private mutating func remove(at path: JSONPointer) throws(JSONPatchError) -> JSONValue {
    guard let last = path.tokens.last else {
      defer { document = .null }
      return document
    }
    var removed = JSONValue.null
    try edit(path) { (applier, container) throws(JSONPatchError) in
      switch container {
      case .object(var object):
        guard let value = object[last] else { throw applier.missing(path, path.tokens.count - 1) }
        removed = value
        container = .null
        object[last] = nil
        container = .object(object)
      case .array(var elements):
        let index = try applier.element(last, elements.count, path)
        guard index < elements.count else { throw applier.beyond(path, elements.count) }
        container = .null
        removed = elements.remove(at: index)
        container = .array(elements)
      default: throw applier.missing(path, path.tokens.count - 1)
      }
    }
    return removed
  }

  private mutating func replace(at path: JSONPointer, with value: JSONValue) throws(JSONPatchError) {
    try grow(by: value, at: path)
    guard let last = path.tokens.last else { return document = value }
    try edit(path) { (applier, container) throws(JSONPatchError) in
      switch container {
      case .object(var object):
        guard let index = object.index(of: last) else { throw applier.missing(path, path.tokens.count - 1) }
        container = .null
        object.members[index].value = value
        container = .object(object)
      case .array(var elements):
        let index = try applier.element(last, elements.count, path)
        guard index < elements.count else { throw applier.beyond(path, elements.count) }
        container = .null
        elements[index] = value
        container = .array(elements)
      default: throw applier.missing(path, path.tokens.count - 1)
      }
    }
  }

  private typealias Change = (inout PatchApplier, inout JSONValue) throws(JSONPatchError) -> Void

  /// Changes the array or object that contains the location `path`, in place.
  private mutating func edit(_ path: JSONPointer, _ change: Change) throws(JSONPatchError) {
    // Taken out of `self`, so that each container on the path has a unique reference and none is copied.
    var root = document
    document = .null
    try descend(&root, path, 0, change)
    document = root
  }

  private mutating func descend(
    _ node: inout JSONValue, _ path: JSONPointer, _ position: Int, _ change: Change
  ) throws(JSONPatchError) {
    if position == path.tokens.count - 1 {
      try work(node.childCount + 1, path)
      return try change(&self, &node)
    }
    let token = path.tokens[position]
    switch node {
    case .object(var object):
      try work(object.members.count + 1, path)
      guard let index = object.index(of: token) else { throw missing(path, position) }
      node = .null
      try descend(&object.members[index].value, path, position + 1, change)
      node = .object(object)
    case .array(var elements):
      let index = try element(token, elements.count, path)
      guard index < elements.count else { throw beyond(path, elements.count) }
      node = .null
      try descend(&elements[index], path, position + 1, change)
      node = .array(elements)
    default: throw missing(path, position)
    }
  }
}

extension JSONValue {
  /// The number of elements or members.
  fileprivate var childCount: Int {
    switch self {
    case .array(let elements): elements.count
    case .object(let object): object.members.count
    default: 0
    }
  }
}
