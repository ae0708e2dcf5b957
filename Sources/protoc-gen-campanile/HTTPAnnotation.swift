import SwiftProtobuf
import SwiftProtobufPluginLibrary

/// One `google.api.http` binding of a method.
struct HTTPAnnotation {
  var verb = ""
  var template = ""
  var body = ""
  private var additional: [HTTPAnnotation] = []

  /// The number of the extension `google.api.http` of MethodOptions.
  private static let extensionNumber: UInt64 = 72_295_728

  /// The bindings of a method, the main one first.
  static func all(of method: MethodDescriptor) throws -> [HTTPAnnotation] {
    var result: [HTTPAnnotation] = []
    for (number, value) in try WireFields.read([UInt8](method.options.unknownFields.data)[...])
    where number == extensionNumber {
      let rule = try HTTPAnnotation(value)
      result += [rule] + rule.additional
    }
    return result
  }

  /// Reads a serialized `google.api.HttpRule`.
  private init(_ bytes: ArraySlice<UInt8>) throws {
    for (number, value) in try WireFields.read(bytes) {
      let text = String(decoding: value, as: UTF8.self)
      switch number {
      case 2: (verb, template) = ("GET", text)
      case 3: (verb, template) = ("PUT", text)
      case 4: (verb, template) = ("POST", text)
      case 5: (verb, template) = ("DELETE", text)
      case 6: (verb, template) = ("PATCH", text)
      case 7: body = text
      case 8:
        for (part, value) in try WireFields.read(value) {
          let text = String(decoding: value, as: UTF8.self)
          if part == 1 { verb = text.uppercased() } else if part == 2 { template = text }
        }
      case 11: additional.append(try HTTPAnnotation(value))
      default: break
      }
    }
  }
}

/// Reads the length-delimited fields of a serialized message, for options whose types the plugin library does not have.
private enum WireFields {
  static func read(_ bytes: ArraySlice<UInt8>) throws -> [(number: UInt64, value: ArraySlice<UInt8>)] {
    var rest = bytes
    var fields: [(number: UInt64, value: ArraySlice<UInt8>)] = []
    while !rest.isEmpty {
      let tag = try varint(&rest)
      switch tag & 7 {
      case 0: _ = try varint(&rest)
      case 1: _ = try take(8, &rest)
      case 2: fields.append((tag >> 3, try take(try varint(&rest), &rest)))
      case 5: _ = try take(4, &rest)
      default: throw GeneratorError("an option is malformed")
      }
    }
    return fields
  }

  private static func take(_ count: UInt64, _ rest: inout ArraySlice<UInt8>) throws -> ArraySlice<UInt8> {
    guard count <= rest.count else { throw GeneratorError("an option is cut off") }
    let value = rest.prefix(Int(count))
    rest = rest.dropFirst(Int(count))
    return value
  }

  private static func varint(_ rest: inout ArraySlice<UInt8>) throws -> UInt64 {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while let byte = rest.popFirst(), shift < 64 {
      value |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 { return value }
      shift += 7
    }
    throw GeneratorError("an option is cut off")
  }
}
