import CPostgreSQL
import CampanileStore

/// The type of a result's column, which determines how its values are read.
enum ColumnType: Hashable {
  case bool, int2, int4, int8, oid, float4, float8, numeric, text, bytea, void
  case unsupported(UInt32)

  init(_ type: UInt32) {
    switch type {
    case 16: self = .bool
    case 21: self = .int2
    case 23: self = .int4
    case 20: self = .int8
    case 26, 28: self = .oid
    case 700: self = .float4
    case 701: self = .float8
    case 1_700: self = .numeric
    // char, name, text, bpchar, varchar, json, unknown
    case 18, 19, 25, 1_042, 1_043, 114, 705: self = .text
    case 17: self = .bytea
    case 2_278: self = .void
    default: self = .unsupported(type)
    }
  }

  /// Reads a value in the binary form.
  func column(_ bytes: UnsafeRawBufferPointer, _ number: Int) throws(StoreError) -> SQLColumn {
    switch self {
    case .int8: return SQLColumn(.integer, integer: try Self.load(bytes, number))
    case .text: return SQLColumn(.text, bytes: bytes)
    case .bytea: return SQLColumn(.blob, bytes: bytes)
    case .int4: return SQLColumn(.integer, integer: Int64(try Self.load(bytes, number) as Int32))
    case .int2: return SQLColumn(.integer, integer: Int64(try Self.load(bytes, number) as Int16))
    case .oid: return SQLColumn(.integer, integer: Int64(try Self.load(bytes, number) as UInt32))
    case .bool: return SQLColumn(.integer, integer: Int64(try Self.load(bytes, number) as UInt8))
    case .float8: return Self.real(Double(bitPattern: try Self.load(bytes, number)))
    case .float4: return Self.real(Double(Float(bitPattern: try Self.load(bytes, number))))
    case .numeric: return try NumericValue(bytes, number).column
    case .void: return .null
    case .unsupported(let type):
      throw StoreError(
        .invalidArgument, "column \(number) has the type \(type), which the store does not read; cast it")
    }
  }

  static func real(_ value: Double) -> SQLColumn {
    SQLColumn(.real, integer: Int64(bitPattern: value.bitPattern))
  }

  private static func load<T: FixedWidthInteger & BitwiseCopyable>(
    _ bytes: UnsafeRawBufferPointer, _ number: Int
  ) throws(StoreError) -> T {
    guard bytes.count == MemoryLayout<T>.size else {
      throw StoreError(.unavailable, "column \(number) has \(bytes.count) bytes", engineCode: "08P01")
    }
    return T(bigEndian: bytes.loadUnaligned(as: T.self))
  }
}
