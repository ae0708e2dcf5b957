/// Why a JSON text is not the message that was expected.
public struct ProtoJSONError: Error, Sendable, Hashable {
  /// What kind of mistake it is.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The stable name, UPPER_SNAKE.
    public let description: String

    private init(_ description: String) {
      self.description = description
    }

    /// The text breaks the grammar of RFC 8259, or ends too early.
    public static let syntax = Code("JSON_SYNTAX")
    /// Something follows the value.
    public static let trailingBytes = Code("JSON_TRAILING_BYTES")
    /// A string is not UTF-8 (RFC 3629).
    public static let invalidUTF8 = Code("JSON_INVALID_UTF8")
    /// A `\u` escape names half of a surrogate pair.
    public static let loneSurrogate = Code("JSON_LONE_SURROGATE")
    /// More arrays and objects are open than `JSONDecodingOptions.maxDepth`.
    public static let depthExceeded = Code("JSON_DEPTH_EXCEEDED")
    /// The message has no such field.
    public static let unknownField = Code("UNKNOWN_FIELD")
    /// A field, or a key of a map or object, is there twice.
    public static let duplicateField = Code("DUPLICATE_FIELD")
    /// Two members of one `oneof` are set.
    public static let oneofConflict = Code("ONEOF_CONFLICT")
    /// The value has another JSON type than the field.
    public static let wrongType = Code("WRONG_TYPE")
    /// A number is outside the field's type.
    public static let outOfRange = Code("OUT_OF_RANGE")
    /// The enum has no value with this name.
    public static let unknownEnumValue = Code("UNKNOWN_ENUM_VALUE")
    /// A string has the wrong form for the field: base64, timestamp, duration, field mask, map key or type URL.
    public static let invalidFormat = Code("INVALID_FORMAT")
  }

  // One pointer, so that a throwing call costs its caller a register and no stack.
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

  /// An error at `byteOffset` of the text. `detail` is one clause without the place, such as `expected a string`.
  public init(_ code: Code, _ detail: String, byteOffset: Int, fieldPath: String = "") {
    storage = Storage(code: code, detail: detail, byteOffset: byteOffset, fieldPath: fieldPath)
  }

  /// What kind of mistake it is.
  public var code: Code { storage.code }
  /// The code as a stable UPPER_SNAKE word, for `ErrorInfo.reason`.
  public var reason: String { storage.code.description }
  /// The place as written in the text, such as `notification.actions[2].type`; empty for the whole message.
  public var fieldPath: String { storage.fieldPath }
  /// The place as the number of bytes before it.
  public var byteOffset: Int { storage.byteOffset }
  /// One sentence for people: the path, what is wrong, the byte offset.
  public var message: String {
    let place = fieldPath.isEmpty ? "" : "\(fieldPath): "
    return "\(place)\(storage.detail) (at byte \(byteOffset))"
  }

  /// The same error with the field path that `byteOffset` has in `text`.
  ///
  /// The path is found by reading the text again up to the error, so that reading without errors need not keep it.
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
