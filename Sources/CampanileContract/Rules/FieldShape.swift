package import SwiftProtobuf

/// The properties of a field on which its rules depend.
package struct FieldShape {
  package typealias ValueType = Google_Protobuf_FieldDescriptorProto.TypeEnum

  package var type: ValueType
  /// The full name of the type of a message without a leading dot; empty for other types.
  package var messageType: String
  /// The numbers of an enum's values, or of the values of a list or map of enums; nil if they are unknown.
  package var enumNumbers: Set<Int32>?
  package var isRepeated: Bool
  package var hasPresence: Bool
  /// The types of a map's keys and values; nil if the field is not a map.
  package var entry: (key: ValueType, value: ValueType)?
  /// The serialized options that swift-protobuf does not know.
  package var options: [UInt8]

  package init(
    type: ValueType, messageType: String, enumNumbers: Set<Int32>? = nil, isRepeated: Bool, hasPresence: Bool,
    entry: (key: ValueType, value: ValueType)?, options: [UInt8]
  ) {
    self.type = type
    self.messageType = messageType
    self.enumNumbers = enumNumbers
    self.isRepeated = isRepeated
    self.hasPresence = hasPresence
    self.entry = entry
    self.options = options
  }
}
