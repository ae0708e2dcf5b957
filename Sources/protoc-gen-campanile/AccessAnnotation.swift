import SwiftProtobuf
import SwiftProtobufPluginLibrary

/// The option `campanile.rpc.v1.access` of a method.
struct AccessAnnotation {
  var scope = ""
  var isBulk = false

  /// The number of the extension of MethodOptions.
  private static let extensionNumber: UInt64 = 50_740

  /// What a method says; nothing where it says nothing.
  init(_ method: MethodDescriptor) throws {
    for (number, value) in try WireFields.read([UInt8](method.options.unknownFields.data)[...])
    where number == Self.extensionNumber {
      for (part, value) in try WireFields.read(value) {
        switch part {
        case 1: scope = String(decoding: value, as: UTF8.self)
        case 2: isBulk = value.contains { $0 & 0x7F != 0 }
        default: break
        }
      }
    }
  }
}
