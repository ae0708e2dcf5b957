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

  /// What a patch may cost.
  public struct Limits: Sendable, Hashable {
    /// How many operations it may have.
    public var operationsMax: Int
    /// How deep the document may become.
    public var depthMax: Int
    /// How many bytes the operations may add to the document together, as JSON texts. Bounds what copies of copies make.
    public var addedBytesMax: Int
    /// How many members, elements and bytes may be looked at; keeps time in bounds for patches that search in big
    /// objects or move elements of big arrays over and over.
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

/// Why a JSON Patch is none, or cannot be applied.
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
    /// A token that must be an index of an array is none, or the index is beyond the array.
    public static let invalidIndex = Code("JSON_PATCH_INVALID_INDEX")
    /// A `test` found another value (section 4.6).
    public static let testFailed = Code("JSON_PATCH_TEST_FAILED")
    /// A `move` into its own child (section 4.4).
    public static let moveIntoChild = Code("JSON_PATCH_MOVE_INTO_CHILD")
    /// More than `JSONPatch.Limits` allows.
    public static let limitExceeded = Code("JSON_PATCH_LIMIT_EXCEEDED")
  }

  public var code: Code
  /// Which operation, counted from 0; nil if the patch as a whole is meant.
  public var operationIndex: Int?
  /// The location that the operation failed at.
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
