package import SwiftProtobuf

/// One `google.api.http` binding of a method.
package struct HTTPAnnotation: Sendable {
  package var verb = ""
  package var template = ""
  package var body = ""
  private var additional: [HTTPAnnotation] = []

  /// The number of the `google.api.http` extension in MethodOptions.
  private static let extensionNumber: UInt64 = 72_295_728

  /// Returns the bindings of a method with these options, the main one first.
  package static func all(of options: Google_Protobuf_MethodOptions) throws -> [HTTPAnnotation] {
    var result: [HTTPAnnotation] = []
    for (number, value) in try WireFields.read(options.unknownFields.data)
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
