import CampanileBase

extension JSONWriter {
  /// Writes a quoted string, with quotes, backslashes and control characters escaped.
  @inlinable
  public mutating func string(_ value: String) {
    var copy = value
    copy.withUTF8 { string(utf8: $0) }
  }

  /// Writes UTF-8 as a quoted string.
  @inlinable
  public mutating func string(utf8 bytes: UnsafeBufferPointer<UInt8>) {
    let size = bytes.count
    // 16 more than required, so that the last block can be copied in full.
    reserve(size &+ 18)
    base[length] = UInt8(ascii: "\"")
    let target = UnsafeMutableRawPointer(base + (length &+ 1))
    guard let source = bytes.baseAddress else {
      base[length &+ 1] = UInt8(ascii: "\"")
      length &+= 2
      return
    }
    var index = 0
    while size &- index >= 16 {
      let found = JSONBytes.flags16(source + index, nonASCII: 0)
      (target + index).copyMemory(from: source + index, byteCount: 16)
      if found.low | found.high != 0 { return stringSlow(bytes, from: index) }
      index &+= 16
    }
    let stop = JSONBytes.scanTail(source + index, source + size, nonASCII: 0)
    if stop != source + size { return stringSlow(bytes, from: index) }
    (target + index).copyMemory(from: source + index, byteCount: size &- index)
    base[length &+ size &+ 1] = UInt8(ascii: "\"")
    length &+= size &+ 2
  }

  /// Continues a string whose opening quote and bytes before `index` are already in place.
  @usableFromInline
  @inline(never)
  mutating func stringSlow(_ bytes: UnsafeBufferPointer<UInt8>, from index: Int) {
    length += 1 + index
    for byte in bytes[index...] {
      reserve(6)
      switch byte {
      case UInt8(ascii: "\""): append(raw: "\\\"")
      case UInt8(ascii: "\\"): append(raw: "\\\\")
      case 0x0A: append(raw: "\\n")
      case 0x0D: append(raw: "\\r")
      case 0x09: append(raw: "\\t")
      case 0x00..<0x20:
        append(raw: "\\u00")
        append(byte >> 4 + UInt8(ascii: "0"))
        append(byte & 15 + (byte & 15 < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10))
      default: append(byte)
      }
    }
    append(UInt8(ascii: "\""))
  }

  /// Writes `true` or `false`.
  @inlinable
  @inline(__always)
  public mutating func bool(_ value: Bool) {
    if value { append(raw: "true") } else { append(raw: "false") }
  }

  /// Writes an `int32` as a number.
  @inlinable
  public mutating func int32(_ value: Int32) { integer(value.magnitude, negative: value < 0) }

  /// Writes a `uint32` as a number.
  @inlinable
  public mutating func uint32(_ value: UInt32) { integer(value, negative: false) }

  /// Writes an `int64` as a string, as ProtoJSON requires.
  @inlinable
  public mutating func int64(_ value: Int64) {
    append(UInt8(ascii: "\""))
    integer(value.magnitude, negative: value < 0)
    append(UInt8(ascii: "\""))
  }

  /// Writes a `uint64` as a string, as ProtoJSON requires.
  @inlinable
  public mutating func uint64(_ value: UInt64) {
    append(UInt8(ascii: "\""))
    integer(value, negative: false)
    append(UInt8(ascii: "\""))
  }

  /// Writes an integer as a bare number.
  @inlinable
  public mutating func number(_ value: some FixedWidthInteger) {
    integer(UInt64(truncatingIfNeeded: value.magnitude), negative: value < 0)
  }

  @inlinable
  mutating func integer(_ magnitude: some FixedWidthInteger & UnsignedInteger, negative: Bool) {
    reserve(21)
    if negative {
      base[length] = UInt8(ascii: "-")
      length &+= 1
    }
    var size = 1
    var rest = magnitude / 10
    while rest != 0 {
      size &+= 1
      rest /= 10
    }
    var value = magnitude
    var index = length &+ size
    length = index
    repeat {
      index &-= 1
      base[index] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: value % 10)
      value /= 10
    } while value != 0
  }

  /// Writes a `double`: the shortest text that parses to the same value, `"NaN"`, `"Infinity"` or `"-Infinity"`.
  public mutating func double(_ value: Double) {
    if value.isFinite { append(raw: value.description) } else { special(value) }
  }

  /// Writes a `float`, in the same forms as a `double`.
  public mutating func float(_ value: Float) {
    if value.isFinite { append(raw: value.description) } else { special(Double(value)) }
  }

  private mutating func special(_ value: Double) {
    if value.isNaN { append(raw: "\"NaN\"") } else { append(raw: value < 0 ? "\"-Infinity\"" : "\"Infinity\"") }
  }

  /// Writes `bytes` as base64 with padding.
  public mutating func bytes(_ value: [UInt8]) {
    let sizeBytes = Base64.encodedSizeBytes(value.count)
    reserve(sizeBytes + 2)
    base[length] = UInt8(ascii: "\"")
    value.withUnsafeBytes { Base64.encode($0, to: base + length + 1) }
    base[length + sizeBytes + 1] = UInt8(ascii: "\"")
    length &+= sizeBytes + 2
  }

  /// Writes an enum's name, or its number if the number is unknown.
  @inlinable
  public mutating func enumeration(_ value: some ProtoEnum) {
    guard let name = value.protoName else { return int32(value.rawValue) }
    append(UInt8(ascii: "\""))
    append(raw: name)
    append(UInt8(ascii: "\""))
  }
}
