import APNs
import CampanileCodec

/// The rejection of a control request.
struct ControlError: Error, Sendable, Hashable {
  var status: Int
  var reason: String
  var message: String

  init(_ status: Int, _ reason: String, _ message: String) {
    self.status = status
    self.reason = reason
    self.message = message
  }

  static func invalid(_ message: String) -> ControlError { ControlError(400, "INVALID_ARGUMENT", message) }
  static func notFound(_ message: String) -> ControlError { ControlError(404, "NOT_FOUND", message) }
}

/// A strict parser of control requests, because a misspelt member of a script would make a test pass for the wrong
/// reason.
enum ControlRequest {
  /// Reads the members of an object with `member`, which returns whether it knows the name.
  static func read<T>(
    _ body: [UInt8], into initial: T, _ member: (inout T, String, inout JSONReader) throws -> Bool
  ) throws(ControlError) -> T {
    do {
      return try (body.isEmpty ? Array("{}".utf8) : body).withUnsafeBytes { bytes in
        var value = initial
        var reader = JSONReader(bytes, options: JSONDecodingOptions(maxDepth: 16))
        try object(&reader) { name, reader in try member(&value, name, &reader) }
        try reader.finish()
        return value
      }
    } catch let error as ControlError {
      throw error
    } catch let error as ProtoJSONError {
      throw .invalid("\(error.message) at byte \(error.byteOffset)")
    } catch {
      throw .invalid("\(error)")
    }
  }

  /// Reads one object inside a body.
  static func object(
    _ reader: inout JSONReader, _ member: (String, inout JSONReader) throws -> Bool
  ) throws {
    var more = try reader.beginObject()
    while more {
      let name = try reader.stringKey()
      guard try member(name, &reader) else { throw ControlError.invalid("unknown member \(name)") }
      more = try reader.nextMember()
    }
  }

  /// Reads a word that is a case of an enumeration.
  static func word<E: RawRepresentable & CaseIterable>(
    _ type: E.Type, _ name: String, _ reader: inout JSONReader
  ) throws -> E where E.RawValue == String {
    let text = try reader.string()
    guard let value = E(rawValue: text) else {
      throw ControlError.invalid("\(name) must be one of \(E.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    return value
  }

  /// Reads a whole number in `range`; a fraction of zeros is allowed.
  static func number(_ name: String, _ range: ClosedRange<Int64>, _ reader: inout JSONReader) throws -> Int64 {
    let value = try reader.int64()
    guard range.contains(value) else {
      throw ControlError.invalid("\(name) must be from \(range.lowerBound) to \(range.upperBound)")
    }
    return value
  }

  static func strings(_ reader: inout JSONReader) throws -> [String] {
    var strings: [String] = []
    var more = try reader.beginArray()
    while more {
      strings.append(try reader.string())
      more = try reader.nextElement()
    }
    return strings
  }
}
