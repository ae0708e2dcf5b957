package import SwiftProtobuf

/// The `campanile.rpc.v1.access` option of a method.
package struct AccessAnnotation: Sendable {
  package var scope = ""
  package var isBulk = false
  package var hasSecretResponse = false

  /// The extension number in MethodOptions.
  private static let extensionNumber: UInt64 = 50_740
  private static let errorsNumber: UInt64 = 50_742

  init() {}

  /// Reads the options of a method; the properties keep their defaults if it is not set.
  package init(_ options: Google_Protobuf_MethodOptions) throws {
    for (number, value) in try WireFields.read(options.unknownFields.data)
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

  /// Reads the `campanile.rpc.v1.errors` option of a method: stable reasons that its comment need not name.
  static func reasons(_ options: Google_Protobuf_MethodOptions) throws -> [String] {
    try WireFields.read(options.unknownFields.data).filter { $0.number == errorsNumber }.flatMap { option in
      try WireFields.read(option.value).filter { $0.number == 1 }.map { String(decoding: $0.value, as: UTF8.self) }
    }
  }

  private static func isSet(_ varint: ArraySlice<UInt8>) -> Bool { varint.contains { $0 & 0x7F != 0 } }
}
