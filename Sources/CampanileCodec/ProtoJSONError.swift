/// The reason why a JSON text is not the expected message.
public struct ProtoJSONError: Error, Sendable, Hashable {
  /// The kind of an error.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The stable name in UPPER_SNAKE.
    public let description: String

    private init(_ description: String) {
      self.description = description
    }

    /// The text violates the grammar of RFC 8259, or ends too early.
    public static let syntax = Code("JSON_SYNTAX")
    /// The value is followed by other text.
    public static let trailingBytes = Code("JSON_TRAILING_BYTES")
    /// A string is not UTF-8 (RFC 3629).
    public static let invalidUTF8 = Code("JSON_INVALID_UTF8")
    /// A `\u` escape is half of a surrogate pair.
    public static let loneSurrogate = Code("JSON_LONE_SURROGATE")
    /// Arrays and objects are nested deeper than `JSONDecodingOptions.maxDepth`.
    public static let depthExceeded = Code("JSON_DEPTH_EXCEEDED")
    /// A field, or a key of a map or object, occurs twice.
    public static let duplicateField = Code("DUPLICATE_FIELD")
    /// Two members of one `oneof` are set.
    public static let oneofConflict = Code("ONEOF_CONFLICT")
    /// The value's JSON type does not match the field.
    public static let wrongType = Code("WRONG_TYPE")
    /// A number is outside the range of the field's type.
    public static let outOfRange = Code("OUT_OF_RANGE")
    /// A string has the wrong form for the field: base64, timestamp, duration, field mask, map key or type URL.
    public static let invalidFormat = Code("INVALID_FORMAT")
  }

  // Stored behind one pointer, so that a throwing call costs its caller a register and no stack.
  private final class Storage: Sendable {
    let code: Code
    let detail: String
    let byteOffset: Int
    let fieldPath: String

    init(code: Code, detail: String, byteOffset: Int, fieldPath: String) {
      self.code = code
      self.detail = detail
      self.byteOffset = byteOffset
      self.fieldPath = fieldPath
    }
  }

  private let storage: Storage

  /// Creates an error at `byteOffset` of the text. `detail` is one clause without the position, such as `expected a
  /// string`.
  public init(_ code: Code, _ detail: String, byteOffset: Int, fieldPath: String = "") {
    storage = Storage(code: code, detail: detail, byteOffset: byteOffset, fieldPath: fieldPath)
  }

  /// The kind of the error.
  public var code: Code { storage.code }
  /// The code in stable UPPER_SNAKE form, for `ErrorInfo.reason`.
  public var reason: String { storage.code.description }
  /// The path as written in the text, such as `notification.actions[2].type`; empty for the whole message.
  public var fieldPath: String { storage.fieldPath }
  /// The number of bytes before the error.
  public var byteOffset: Int { storage.byteOffset }
  /// One sentence for people: the path, the error and the byte offset.
  public var message: String { fieldPath.isEmpty ? detail : "\(fieldPath): \(detail)" }
  /// The error and the byte offset, without the path.
  public var detail: String { "\(storage.detail) (at byte \(byteOffset))" }

  /// Returns the same error with the field path of `byteOffset` in `text`.
  ///
  /// The path is found by reading the text again up to the error, so that decoding valid text need not track it.
  public func located(in text: UnsafeRawBufferPointer) -> ProtoJSONError {
    let path = JSONPath.path(at: byteOffset, in: text)
    return ProtoJSONError(code, storage.detail, byteOffset: byteOffset, fieldPath: path)
  }

  public static func == (left: Self, right: Self) -> Bool {
    left.code == right.code && left.storage.detail == right.storage.detail && left.byteOffset == right.byteOffset
      && left.fieldPath == right.fieldPath
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(code)
    hasher.combine(byteOffset)
    hasher.combine(fieldPath)
  }
}

extension ProtoJSONError: CustomStringConvertible {
  public var description: String { "\(reason): \(message)" }
}
