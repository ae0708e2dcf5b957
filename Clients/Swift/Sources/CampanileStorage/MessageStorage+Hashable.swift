import CampanileCodec

extension MessageStorage {
  func equals(_ other: MessageStorage) -> Bool {
    if self === other { return true }
    // A negative zero is present, and equals the default of an absent field.
    let different = present ^ other.present
    if different != 0 {
      for index in Bits(different) where !isZero(index) || !other.isZero(index) { return false }
    }
    for index in Bits(present & other.present) where !isEqual(index, other) { return false }
    return true
  }

  func combine(into hasher: inout Hasher) {
    for index in Bits(present) where !isZero(index) {
      hasher.combine(index)
      switch table.fields[index].kind {
      case .string: hasher.combine(string(index))
      case .timestamp: hasher.combine(timestamp(index))
      case .message, .object: slot(index, FieldObject.self).pointee.hash(into: &hasher)
      case .bool: hasher.combine(bool(index))
      case .enumeration, .int32, .uint32: hasher.combine(int32(index))
      case .int64, .uint64: hasher.combine(int64(index))
      case .double: hasher.combine(double(index))
      case .float: hasher.combine(float(index))
      }
    }
  }

  var hashValue: Int {
    var hasher = Hasher()
    combine(into: &hasher)
    return hasher.finalize()
  }

  /// Whether the field has no presence, and is absent or a negative zero.
  private func isZero(_ index: Int) -> Bool {
    let field = table.fields + index
    if field.pointee.hasPresence { return false }
    if !has(index) { return true }
    switch field.pointee.kind {
    case .double: return double(index) == 0
    case .float: return float(index) == 0
    default: return false
    }
  }

  private func isEqual(_ index: Int, _ other: MessageStorage) -> Bool {
    switch table.fields[index].kind {
    case .string: slot(index, String.self).pointee == other.slot(index, String.self).pointee
    case .timestamp: slot(index, ProtoTimestamp.self).pointee == other.slot(index, ProtoTimestamp.self).pointee
    case .message, .object:
      slot(index, FieldObject.self).pointee.isEqual(to: other.slot(index, FieldObject.self).pointee)
    case .bool: bool(index) == other.bool(index)
    case .enumeration, .int32, .uint32: int32(index) == other.int32(index)
    case .int64, .uint64: int64(index) == other.int64(index)
    case .double: double(index) == other.double(index)
    case .float: float(index) == other.float(index)
    }
  }
}
