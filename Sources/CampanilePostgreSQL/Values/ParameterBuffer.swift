import CampanileStore

/// The arguments of one statement as libpq takes them. Reused by every statement of a connection.
final class ParameterBuffer {
  /// Larger buffers are released after use.
  private static let keptBytesMax = 256 << 10
  /// Maximum size of a text or blob: as for SQLite.
  static let valueBytesMax = 256 << 20

  private var memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 1_024, alignment: 16)
  private(set) var sizeBytes = 0
  private(set) var values: [UnsafePointer<CChar>?] = []
  private(set) var lengths: [Int32] = []
  private(set) var formats: [Int32] = []

  deinit { memory.deallocate() }

  var count: Int32 { Int32(values.count) }

  /// Encodes the arguments, which stay in place until the next call.
  ///
  /// - Throws: `invalidArgument` if a value does not fit its parameter.
  func fill(_ arguments: [SQLValue], _ types: [ParameterType]) throws(StoreError) {
    guard arguments.count == types.count else {
      throw StoreError(
        .invalidArgument, "the statement takes \(types.count) arguments but got \(arguments.count)")
    }
    values.removeAll(keepingCapacity: true)
    lengths.removeAll(keepingCapacity: true)
    formats.removeAll(keepingCapacity: true)
    let arguments = Self.storable(arguments, types)
    reserve(arguments)
    sizeBytes = 0
    for index in arguments.indices {
      do throws(StoreError) {
        try append(arguments[index], types[index])
      } catch {
        throw StoreError(error.code, "argument $\(index + 1) \(error.message)")
      }
    }
  }

  private static func storable(_ arguments: [SQLValue], _ types: [ParameterType]) -> [SQLValue] {
    var result = arguments
    for index in arguments.indices where types[index] != .bytea {
      if case .text(var text) = arguments[index], let stored = ZeroEscape.stored(&text) {
        result[index] = .text(stored)
      }
    }
    return result
  }

  private func reserve(_ arguments: [SQLValue]) {
    var need = 0
    for argument in arguments {
      switch argument {
      case .text(let text): need += text.utf8.count + 1
      case .blob(let bytes): need += bytes.count + 1
      case .integer, .real, .null: need += 32
      }
    }
    guard need > memory.count || memory.count > Self.keptBytesMax else { return }
    memory.deallocate()
    memory = .allocate(byteCount: max(need, 1_024), alignment: 16)
  }

  private func append(_ value: SQLValue, _ type: ParameterType) throws(StoreError) {
    switch value {
    case .null: add(nil, 0, isBinary: true)
    case .integer(let value): try append(value, type)
    case .real(let value): try append(value, type)
    case .text(var text):
      guard text.utf8.count <= Self.valueBytesMax else { throw Self.refused("is larger than 256 MiB") }
      text.withUTF8 { appendBytes(UnsafeRawBufferPointer($0), isBinary: type == .text || type == .bytea) }
    case .blob(let bytes):
      guard type == .bytea else { throw Self.refused("is a blob, but the statement takes another type") }
      guard bytes.count <= Self.valueBytesMax else { throw Self.refused("is larger than 256 MiB") }
      bytes.withUnsafeBytes { appendBytes($0, isBinary: true) }
    }
  }

  private func append(_ value: Int64, _ type: ParameterType) throws(StoreError) {
    switch type {
    case .int8: appendScalar(value.bigEndian)
    case .int4: appendScalar(try Self.exactly(value, Int32.self).bigEndian)
    case .int2: appendScalar(try Self.exactly(value, Int16.self).bigEndian)
    case .float8: appendScalar(Double(value).bitPattern.bigEndian)
    case .float4: appendScalar(Float(value).bitPattern.bigEndian)
    case .bool: appendScalar(UInt8(value == 0 ? 0 : 1))
    case .text: appendText(String(value), isBinary: true)
    case .bytea: throw Self.refused("is an integer, but the statement takes a blob")
    case .other: appendText(String(value), isBinary: false)
    }
  }

  /// NaN is stored as NULL, as SQLite does.
  private func append(_ value: Double, _ type: ParameterType) throws(StoreError) {
    guard !value.isNaN else { return add(nil, 0, isBinary: true) }
    switch type {
    case .float8: appendScalar(value.bitPattern.bigEndian)
    case .float4: appendScalar(Float(value).bitPattern.bigEndian)
    case .int8, .int4, .int2:
      guard let whole = Int64(exactly: value) else { throw Self.refused("is not a whole number") }
      try append(whole, type)
    case .text: appendText(String(value), isBinary: true)
    case .bool, .bytea: throw Self.refused("is a real, but the statement takes another type")
    case .other:
      appendText(value.isInfinite ? (value < 0 ? "-Infinity" : "Infinity") : String(value), isBinary: false)
    }
  }

  private func appendText(_ text: String, isBinary: Bool) {
    var text = text
    text.withUTF8 { appendBytes(UnsafeRawBufferPointer($0), isBinary: isBinary) }
  }

  /// Appends bytes and a zero, which ends a value in the text form.
  private func appendBytes(_ bytes: UnsafeRawBufferPointer, isBinary: Bool) {
    guard let base = memory.baseAddress else { return }
    let start = base + sizeBytes
    if let source = bytes.baseAddress { start.copyMemory(from: source, byteCount: bytes.count) }
    start.storeBytes(of: 0, toByteOffset: bytes.count, as: UInt8.self)
    sizeBytes += bytes.count + 1
    add(start, Int32(bytes.count), isBinary: isBinary)
  }

  private func appendScalar<T: BitwiseCopyable>(_ value: T) {
    guard let base = memory.baseAddress else { return }
    let start = base + sizeBytes
    start.storeBytes(of: value, as: T.self)
    sizeBytes += MemoryLayout<T>.size
    add(start, Int32(MemoryLayout<T>.size), isBinary: true)
  }

  private func add(_ start: UnsafeMutableRawPointer?, _ length: Int32, isBinary: Bool) {
    values.append(start.map { UnsafePointer($0.assumingMemoryBound(to: CChar.self)) })
    lengths.append(length)
    formats.append(isBinary ? 1 : 0)
  }

  private static func exactly<T: FixedWidthInteger>(_ value: Int64, _ type: T.Type) throws(StoreError) -> T {
    guard let exact = T(exactly: value) else { throw refused("does not fit into \(T.bitWidth) bits") }
    return exact
  }

  private static func refused(_ message: String) -> StoreError { StoreError(.invalidArgument, message) }
}
