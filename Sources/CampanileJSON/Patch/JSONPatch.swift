/// A JSON Patch (RFC 6902): operations that turn one document into another.
public struct JSONPatch: Sendable, Hashable {
  /// One operation (section 4).
  public enum Operation: Sendable, Hashable {
    case add(path: JSONPointer, value: JSONValue)
    case remove(path: JSONPointer)
    case replace(path: JSONPointer, value: JSONValue)
    case move(from: JSONPointer, path: JSONPointer)
    case copy(from: JSONPointer, path: JSONPointer)
    case test(path: JSONPointer, value: JSONValue)

    public var path: JSONPointer {
      switch self {
      case .add(let path, _), .remove(let path), .replace(let path, _), .move(_, let path), .copy(_, let path),
        .test(let path, _):
        path
      }
    }
  }

  /// Limits for a patch.
  public struct Limits: Sendable, Hashable {
    /// Maximum number of operations.
    public var operationsMax: Int
    /// Maximum depth of the document after each operation.
    public var depthMax: Int
    /// Maximum total size of the values that operations add, as JSON text. Bounds the growth from copies of copies.
    public var addedBytesMax: Int
    /// Maximum number of members, elements and bytes visited. Bounds the time of patches that search large objects or
    /// move elements of large arrays repeatedly.
    public var workMax: Int

    public init(
      operationsMax: Int = 10_000, depthMax: Int = 512, addedBytesMax: Int = 64_000_000, workMax: Int = 1_000_000_000
    ) {
      self.operationsMax = operationsMax
      self.depthMax = min(max(depthMax, 0), JSONLimits.depthCeiling)
      self.addedBytesMax = addedBytesMax
      self.workMax = workMax
    }
  }

  public var operations: [Operation]

  public init(operations: [Operation] = []) {
    self.operations = operations
  }
}

/// The reason a JSON Patch is invalid or cannot be applied.
public struct JSONPatchError: Error, Sendable, Hashable, CustomStringConvertible {
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The stable name, UPPER_SNAKE.
    public let description: String

    private init(_ description: String) {
      self.description = description
    }

    /// The patch itself is malformed (RFC 6902, sections 3 and 4; RFC 6901, section 3).
    public static let invalidPatch = Code("JSON_PATCH_INVALID")
    /// The target location, its parent or the `from` location does not exist.
    public static let notFound = Code("JSON_PATCH_NOT_FOUND")
    /// A token that must be an array index is not one, or the index is out of bounds.
    public static let invalidIndex = Code("JSON_PATCH_INVALID_INDEX")
    /// A `test` found a different value (section 4.6).
    public static let testFailed = Code("JSON_PATCH_TEST_FAILED")
    /// A `move` into its own child (section 4.4).
    public static let moveIntoChild = Code("JSON_PATCH_MOVE_INTO_CHILD")
    /// The patch exceeds a limit of `JSONPatch.Limits`.
    public static let limitExceeded = Code("JSON_PATCH_LIMIT_EXCEEDED")
  }

  public var code: Code
  /// The index of the operation; nil if the error concerns the patch as a whole.
  public var operationIndex: Int?
  /// The location at which the operation failed.
  public var path: String
  /// One clause.
  public var reason: String

  public init(_ code: Code, operationIndex: Int?, path: String, reason: String) {
    self.code = code
    self.operationIndex = operationIndex
    self.path = path
    self.reason = reason
  }

  public var description: String {
    let place = operationIndex.map { "operation \($0) at \"\(path)\": " } ?? ""
    return "\(code): \(place)\(reason)"
  }
}
