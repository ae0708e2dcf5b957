/// A JSON Pointer (RFC 6901): a reference to a value in a document.
///
/// Tokens are compared code point by code point, without normalisation (section 4).
public struct JSONPointer: Sendable, CustomStringConvertible {
  /// Maximum number of tokens that `init` accepts.
  public static let tokensMax = 1024

  /// The names and indices on the path from the root, unescaped. An empty array refers to the whole document.
  public var tokens: [String]

  public init(tokens: [String] = []) {
    self.tokens = tokens
  }

  /// Parses the string form: empty, or tokens preceded by `/`, with `~1` for `/` and `~0` for `~` (section 3).
  ///
  /// - Throws: `invalidPointer` if it does not start with `/`, has a `~` that is not followed by 0 or 1, or has more
  ///   than `tokensMax` tokens.
  public init(_ text: String) throws(JSONPointerError) {
    tokens = []
    if text.utf8.isEmpty { return }
    guard text.utf8.first == UInt8(ascii: "/") else {
      throw JSONPointerError(.invalidPointer, pointer: text, reason: "a pointer starts with '/'")
    }
    for token in text.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
      guard tokens.count < Self.tokensMax else {
        throw JSONPointerError(.invalidPointer, pointer: text, reason: "more than \(Self.tokensMax) tokens")
      }
      guard let unescaped = Self.unescaped(token) else {
        throw JSONPointerError(.invalidPointer, pointer: text, reason: "'~' is followed by neither '0' nor '1'")
      }
      tokens.append(unescaped)
    }
  }

  private static func unescaped(_ token: Substring.UTF8View) -> String? {
    guard token.contains(UInt8(ascii: "~")) else { return String(Substring(token)) }
    var bytes: [UInt8] = []
    var isTilde = false
    for byte in token {
      if isTilde {
        guard byte == UInt8(ascii: "0") || byte == UInt8(ascii: "1") else { return nil }
        bytes.append(byte == UInt8(ascii: "0") ? UInt8(ascii: "~") : UInt8(ascii: "/"))
        isTilde = false
      } else if byte == UInt8(ascii: "~") {
        isTilde = true
      } else {
        bytes.append(byte)
      }
    }
    return isTilde ? nil : String(decoding: bytes, as: UTF8.self)
  }

  /// The string form.
  public var description: String {
    var text = ""
    for token in tokens {
      text += "/"
      text += PathText.escaped(token)
    }
    return text
  }

  /// Returns the value in `document` that the pointer refers to (section 4).
  ///
  /// - Throws: `notFound` if a member or element does not exist, `invalidIndex` for a token that is not an array index.
  ///   `-`, the element after the last, never exists (section 4).
  public func value(in document: JSONValue) throws(JSONPointerError) -> JSONValue {
    var value = document
    for (position, token) in tokens.enumerated() {
      switch value {
      case .object(let object):
        guard let member = object[token] else { throw missing(position, "there is no member with this name") }
        value = member
      case .array(let elements):
        guard let index = Self.index(token) else {
          if token == "-" { throw missing(position, "'-' is after the last element") }
          throw JSONPointerError(
            .invalidIndex, pointer: prefix(position + 1).description, reason: "'\(token)' is not an array index")
        }
        guard index < elements.count else { throw missing(position, "the array has \(elements.count) elements") }
        value = elements[index]
      default: throw missing(position, "the value is neither an array nor an object")
      }
    }
    return value
  }

  private func missing(_ position: Int, _ reason: String) -> JSONPointerError {
    JSONPointerError(.notFound, pointer: prefix(position + 1).description, reason: reason)
  }

  func prefix(_ count: Int) -> JSONPointer { JSONPointer(tokens: Array(tokens.prefix(count))) }

  /// Whether `other` is the same location or within it.
  func isPrefix(of other: JSONPointer) -> Bool {
    tokens.count <= other.tokens.count && zip(tokens, other.tokens).allSatisfy { JSONString.equal($0, $1) }
  }

  /// Parses an index without leading zeros (section 4); nil for other tokens.
  static func index(_ token: String) -> Int? {
    let digits = token.utf8
    guard !digits.isEmpty, digits.count <= 15, digits.allSatisfy(ASCII.isDigit),
      digits.count == 1 || digits.first != UInt8(ascii: "0")
    else { return nil }
    return Int(token)
  }
}

extension JSONPointer: Hashable {
  public static func == (left: JSONPointer, right: JSONPointer) -> Bool {
    left.tokens.count == right.tokens.count && left.isPrefix(of: right)
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(tokens.count)
    for token in tokens { hasher.combine(Array(token.utf8)) }
  }
}

/// The reason a JSON Pointer is invalid or refers to no value.
public struct JSONPointerError: Error, Sendable, Hashable, CustomStringConvertible {
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    public let description: String

    private init(_ description: String) {
      self.description = description
    }

    /// The text is not a pointer.
    public static let invalidPointer = Code("JSON_POINTER_INVALID")
    /// The document has no value at this location.
    public static let notFound = Code("JSON_POINTER_NOT_FOUND")
    /// A token refers to an array but is not an index.
    public static let invalidIndex = Code("JSON_POINTER_INVALID_INDEX")
  }

  public var code: Code
  /// The part of the pointer that was followed.
  public var pointer: String
  public var reason: String

  public init(_ code: Code, pointer: String, reason: String) {
    self.code = code
    self.pointer = pointer
    self.reason = reason
  }

  public var description: String { "\(code): \"\(pointer)\": \(reason)" }
}
