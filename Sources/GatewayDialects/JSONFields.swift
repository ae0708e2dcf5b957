import CampanileBase
import CampanileCodec
import CampanileRPC

/// The members of a JSON object that an app sent.
///
/// Unknown members are ignored, because apps send more than they document. Each known member has exactly one type.
struct JSONFields: Sendable {
  static let membersMax = 256
  private let bytes: [UInt8]
  private var ranges: [String: Range<Int>] = [:]
  /// The object's path in the body: `""`, or a path with a trailing dot.
  private let prefix: String

  /// Parses an object.
  ///
  /// - Parameter body: The JSON text; an empty body counts as an empty object.
  /// - Throws: INVALID_ARGUMENT `BODY_NOT_JSON` or `BODY_NOT_OBJECT`, or `FIELD_INVALID` for a duplicate name.
  init(_ body: [UInt8], prefix: String = "") throws(RPCError) {
    bytes = body.isEmpty ? Array("{}".utf8) : body
    self.prefix = prefix
    let found = bytes.withUnsafeBytes { bytes -> Result<[RawJSON.Member], RPCError> in
      do throws(RPCError) { try RawJSON.checkObject(bytes) } catch { return .failure(error) }
      return .success(RawJSON.members(bytes, 0..<bytes.count) ?? [])
    }
    let members = try found.get()
    guard members.count <= Self.membersMax else {
      throw RPCError.invalidField(prefix, "it has more than \(Self.membersMax) members")
    }
    for member in members {
      guard ranges.updateValue(member.value, forKey: member.name) == nil else {
        throw RPCError.invalidField(prefix + member.name, "it is given twice")
      }
    }
  }

  var names: some Collection<String> { ranges.keys }

  /// Returns the bytes of a member's value; nil if it is absent or null.
  func raw(_ name: String) -> [UInt8]? {
    guard let range = ranges[name] else { return nil }
    let value = Array(bytes[range])
    return value == Array("null".utf8) ? nil : value
  }

  func string(_ name: String) throws(RPCError) -> String? {
    guard raw(name) != nil, let range = ranges[name] else { return nil }
    guard let text = bytes.withUnsafeBytes({ RawJSON.string($0, range) }) else { throw wrong(name, "a string") }
    return text
  }

  func bool(_ name: String) throws(RPCError) -> Bool? {
    guard let value = raw(name) else { return nil }
    switch String(decoding: value, as: UTF8.self) {
    case "true": return true
    case "false": return false
    default: throw wrong(name, "true or false")
    }
  }

  /// Returns a whole number; neither `85.7` nor `"85"` is valid.
  func integer(_ name: String) throws(RPCError) -> Int64? {
    guard let value = raw(name) else { return nil }
    guard let number = Int64(String(decoding: value, as: UTF8.self)) else { throw wrong(name, "a whole number") }
    return number
  }

  func number(_ name: String) throws(RPCError) -> Double? {
    guard let value = raw(name) else { return nil }
    guard value.first != UInt8(ascii: "\""), let number = Double(String(decoding: value, as: UTF8.self)),
      number.isFinite
    else { throw wrong(name, "a number") }
    return number
  }

  func object(_ name: String) throws(RPCError) -> JSONFields? {
    guard let value = raw(name) else { return nil }
    guard value.first == UInt8(ascii: "{") else { throw wrong(name, "an object") }
    return try JSONFields(value, prefix: prefix + name + ".")
  }

  /// Returns the elements of an array as bytes.
  func elements(_ name: String, max: Int) throws(RPCError) -> [[UInt8]]? {
    guard raw(name) != nil, let range = ranges[name] else { return nil }
    guard let found = bytes.withUnsafeBytes({ RawJSON.elements($0, range) }) else { throw wrong(name, "an array") }
    guard found.count <= max else { throw wrong(name, "an array of at most \(max)") }
    return found.map { Array(bytes[$0]) }
  }

  func strings(_ name: String, max: Int) throws(RPCError) -> [String]? {
    guard let elements = try elements(name, max: max) else { return nil }
    var texts: [String] = []
    for element in elements {
      guard let text = element.withUnsafeBytes({ RawJSON.string($0, 0..<$0.count) }) else {
        throw wrong(name, "an array of strings")
      }
      texts.append(text)
    }
    return texts
  }

  func required<T>(_ name: String, _ value: T?) throws(RPCError) -> T {
    guard let value else { throw RPCError.invalidField(prefix + name, "it is required", reason: "FIELD_REQUIRED") }
    return value
  }

  func wrong(_ name: String, _ expected: String) -> RPCError {
    RPCError.invalidField(prefix + name, "it must be \(expected)")
  }
}
