import SwiftProtobuf
import SwiftProtobufPluginLibrary

/// The `campanile.rpc.v1.access` option of a method.
struct AccessAnnotation {
  var scope = ""
  var isBulk = false
  var hasSecretResponse = false

  /// The extension number in MethodOptions.
  private static let extensionNumber: UInt64 = 50_740

  /// Reads a method's option; the properties keep their defaults if it is not set.
  init(_ method: MethodDescriptor) throws {
    for (number, value) in try WireFields.read([UInt8](method.options.unknownFields.data)[...])
    where number == Self.extensionNumber {
      for (part, value) in try WireFields.read(value) {
        switch part {
        case 1: scope = String(decoding: value, as: UTF8.self)
        case 2: isBulk = Self.isSet(value)
        case 3: hasSecretResponse = Self.isSet(value)
        default: break
        }
      }
    }
  }

  private static func isSet(_ varint: ArraySlice<UInt8>) -> Bool { varint.contains { $0 & 0x7F != 0 } }
}
