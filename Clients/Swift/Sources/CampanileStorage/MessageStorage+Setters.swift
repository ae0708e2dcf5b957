public import CampanileCodec

// Setters of fields, by index. nil, and the default of a field without presence, make the field absent. The other
// members of its `oneof` become absent.

extension MessageStorage {
  public func set(_ index: Int, _ value: String?) {
    if let value = value, begin(index, isDefault: value.isEmpty) { start(index, value) } else { clear(index) }
  }

  public func set(_ index: Int, _ value: Bool?) { trivial(index, value, isDefault: value == false) }
  public func set(_ index: Int, _ value: Int32?) { trivial(index, value, isDefault: value == 0) }
  public func set(_ index: Int, _ value: Int64?) { trivial(index, value, isDefault: value == 0) }
  public func set(_ index: Int, _ value: UInt32?) { trivial(index, value, isDefault: value == 0) }
  public func set(_ index: Int, _ value: UInt64?) { trivial(index, value, isDefault: value == 0) }
  // Negative zero is not the default.
  public func set(_ index: Int, _ value: Double?) { trivial(index, value, isDefault: value?.bitPattern == 0) }
  public func set(_ index: Int, _ value: Float?) { trivial(index, value, isDefault: value?.bitPattern == 0) }
  public func set(_ index: Int, _ value: ProtoTimestamp?) { trivial(index, value, isDefault: false) }

  public func set(_ index: Int, _ value: FieldObject?) {
    if let value, begin(index, isDefault: value.isEmpty) { start(index, value) } else { clear(index) }
  }

  /// Makes the field absent, and the other members of its `oneof`.
  public func clear(_ index: Int) { removeAll(table.fields[index].siblings | 1 << UInt64(index)) }

  private func trivial<T>(_ index: Int, _ value: T?, isDefault: Bool) {
    if let value, begin(index, isDefault: isDefault) { start(index, value) } else { clear(index) }
  }

  /// Makes the field absent, and the other members of its `oneof`. Returns whether the value is to be stored.
  @inline(__always)
  private func begin(_ index: Int, isDefault: Bool) -> Bool {
    clear(index)
    return !isDefault || table.fields[index].hasPresence
  }

  /// Returns the list or the map of a field, for a change in place; `empty` if there is none. Call `changed` after it.
  public func change<T: FieldObject>(_ index: Int, _ empty: @autoclosure () -> T) -> T {
    if !has(index) {
      start(index, empty() as FieldObject)
    } else if !isKnownUniquelyReferenced(&slot(index, FieldObject.self).pointee) {
      slot(index, FieldObject.self).pointee = slot(index, FieldObject.self).pointee.copy()
    }
    return unsafeDowncast(slot(index, FieldObject.self).pointee, to: T.self)
  }

  /// Makes a list or a map absent that became empty.
  public func changed(_ index: Int) {
    if slot(index, FieldObject.self).pointee.isEmpty { clear(index) }
  }
}
