/// The value in one column of a row, for engines other than SQLite. Its bytes are valid while the row is.
package struct SQLColumn {
  package enum Class: UInt8 {
    case null, integer, real, text, blob
  }

  package var storage: Class
  /// The value of an integer, or the bit pattern of a real.
  package var integer: Int64
  /// The bytes of a text or a blob.
  package var bytes: UnsafeRawBufferPointer

  package init(_ storage: Class, integer: Int64 = 0, bytes: UnsafeRawBufferPointer = .init(start: nil, count: 0)) {
    self.storage = storage
    self.integer = integer
    self.bytes = bytes
  }

  package var real: Double { Double(bitPattern: UInt64(bitPattern: integer)) }

  package static var null: SQLColumn { SQLColumn(.null) }
}

@available(*, unavailable)
extension SQLColumn: Sendable {}
