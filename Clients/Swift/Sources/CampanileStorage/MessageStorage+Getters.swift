public import CampanileCodec

// The values of fields, by index. An absent field without presence has its default.

extension MessageStorage {
  public func string(_ index: Int) -> String { has(index) ? slot(index, String.self).pointee : "" }
  public func bool(_ index: Int) -> Bool { has(index) && slot(index, Bool.self).pointee }
  public func int32(_ index: Int) -> Int32 { has(index) ? slot(index, Int32.self).pointee : 0 }
  public func int64(_ index: Int) -> Int64 { has(index) ? slot(index, Int64.self).pointee : 0 }
  public func uint32(_ index: Int) -> UInt32 { UInt32(bitPattern: int32(index)) }
  public func uint64(_ index: Int) -> UInt64 { UInt64(bitPattern: int64(index)) }
  public func double(_ index: Int) -> Double { Double(bitPattern: uint64(index)) }
  public func float(_ index: Int) -> Float { Float(bitPattern: uint32(index)) }

  public func timestamp(_ index: Int) -> ProtoTimestamp? {
    has(index) ? slot(index, ProtoTimestamp.self).pointee : nil
  }

  /// The storage of the message in a field.
  public func message(_ index: Int) -> MessageStorage? {
    object(index).map { unsafeDowncast($0, to: MessageStorage.self) }
  }

  /// The object of a field with this class.
  @inlinable
  public func object<T: FieldObject>(_ index: Int, _ type: T.Type) -> T? {
    object(index).map { unsafeDowncast($0, to: T.self) }
  }

  @usableFromInline
  func object(_ index: Int) -> FieldObject? { has(index) ? slot(index, FieldObject.self).pointee : nil }

  /// The index of the member of a `oneof` that is present, given the index of any member; -1 if none is.
  public func member(_ index: Int) -> Int {
    let found = present & table.fields[index].siblings
    return found == 0 ? -1 : found.trailingZeroBitCount
  }
}
