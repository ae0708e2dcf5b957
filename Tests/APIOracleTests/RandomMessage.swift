import SwiftProtobuf

/// A generator of random messages of any type in a descriptor set, in the protobuf wire format.
struct RandomMessage {
  private let messages: [String: Google_Protobuf_DescriptorProto]
  private let enums: [String: Google_Protobuf_EnumDescriptorProto]
  private static let depthMax = 4

  init(descriptorSets: [[UInt8]]) throws {
    var messages: [String: Google_Protobuf_DescriptorProto] = [:]
    var enums: [String: Google_Protobuf_EnumDescriptorProto] = [:]
    func add(_ message: Google_Protobuf_DescriptorProto, _ scope: String) {
      let name = scope + "." + message.name
      messages[name] = message
      for inner in message.nestedType { add(inner, name) }
      for inner in message.enumType { enums[name + "." + inner.name] = inner }
    }
    for bytes in descriptorSets {
      for file in try Google_Protobuf_FileDescriptorSet(serializedBytes: bytes).file {
        for message in file.messageType { add(message, "." + file.package) }
        for inner in file.enumType { enums[".\(file.package).\(inner.name)"] = inner }
      }
    }
    self.messages = messages
    self.enums = enums
  }

  /// Returns a random message of the type `name`, which begins with a dot.
  func make(_ name: String, depth: Int = 0, _ random: inout SeededGenerator) -> [UInt8] {
    if let wellKnown = wellKnown(name, depth, &random) { return wellKnown }
    guard let message = messages[name] else { return [] }
    var wire: [UInt8] = []
    var oneofs: Set<Int32> = []
    let chance = max(2, message.field.count / 3)
    for field in message.field.shuffled(using: &random) where random.oneIn(chance) {
      if field.hasOneofIndex, !oneofs.insert(field.oneofIndex).inserted { continue }
      if depth >= Self.depthMax, field.type == .message { continue }
      let count = field.label == .repeated ? random.below(4) : 1
      for _ in 0..<count { append(field, to: &wire, depth, &random) }
    }
    return wire
  }

  private func append(
    _ field: Google_Protobuf_FieldDescriptorProto, to wire: inout [UInt8], _ depth: Int, _ random: inout SeededGenerator
  ) {
    let number = Int(field.number)
    switch field.type {
    case .double: wire.fixed64(number, Self.double(&random).bitPattern)
    case .float: wire.fixed32(number, Self.float(&random).bitPattern)
    case .fixed64, .sfixed64: wire.fixed64(number, Self.integer(&random))
    case .fixed32, .sfixed32: wire.fixed32(number, UInt32(truncatingIfNeeded: Self.integer(&random)))
    case .int64, .uint64, .sint64: wire.varint(number, Self.integer(&random))
    case .int32: wire.varint(number, UInt64(bitPattern: Int64(Int32(truncatingIfNeeded: Self.integer(&random)))))
    case .uint32, .sint32: wire.varint(number, UInt64(UInt32(truncatingIfNeeded: Self.integer(&random))))
    case .bool: wire.varint(number, random.next() & 1)
    case .enum: wire.varint(number, UInt64(bitPattern: Int64(enumNumber(field.typeName, &random))))
    case .string: wire.bytes(number, Array(Self.string(&random).utf8))
    case .bytes: wire.bytes(number, (0..<random.below(20)).map { _ in UInt8(truncatingIfNeeded: random.next()) })
    case .message: wire.bytes(number, entryOrMessage(field.typeName, depth + 1, &random))
    case .group: break
    }
  }

  /// Returns a message or map entry. An entry always has both parts, because the oracle also writes an absent message.
  private func entryOrMessage(_ name: String, _ depth: Int, _ random: inout SeededGenerator) -> [UInt8] {
    guard let message = messages[name], message.options.mapEntry else { return make(name, depth: depth, &random) }
    var wire: [UInt8] = []
    for field in message.field {
      if field.number == 1, field.type == .string {
        // swift-protobuf sorts keys with Swift's string comparison, which is not a total order for strings outside NFC:
        // neither "e\u{301}" < "é0" nor the reverse holds. The bytes would differ from run to run.
        wire.bytes(1, Array(Self.string(&random).replacing("e\u{301}", with: "e").utf8))
      } else {
        append(field, to: &wire, depth, &random)
      }
    }
    return wire
  }

  private func enumNumber(_ name: String, _ random: inout SeededGenerator) -> Int32 {
    if name == ".google.protobuf.NullValue" { return 0 }
    let unknown: [Int32] = [99, -1, .max, .min]
    if random.oneIn(6) { return random.pick(unknown) }
    return random.pick(enums[name]?.value ?? []).number
  }
}

// MARK: - Scalars

extension RandomMessage {
  private static func integer(_ random: inout SeededGenerator) -> UInt64 {
    let edges: [UInt64] = [
      0, 1, 9, 10, 99, 127, 128, 1 << 31 - 1, 1 << 31, 1 << 32 - 1, 1 << 32, 1 << 53, 1 << 53 + 1, 1 << 63 - 1, 1 << 63,
      .max, 999_999_999_999_999_999, 1_000_000_000_000_000_000, 10_000_000_000_000_000_000,
    ]
    switch random.below(3) {
    case 0: return random.pick(edges)
    case 1: return random.next() >> UInt64(random.below(64))
    default: return 0 &- (random.next() >> UInt64(random.below(64)))
    }
  }

  static func double(_ random: inout SeededGenerator) -> Double {
    let edges: [Double] = [
      0, -0.0, 1, -1, 0.1, 1.5, 1e15, 1e16, 1e22, 1e23, 123456.789, .leastNonzeroMagnitude, .greatestFiniteMagnitude,
      -.greatestFiniteMagnitude, .leastNormalMagnitude, .infinity, -.infinity, .nan, 9_007_199_254_740_992,
    ]
    if random.oneIn(2) { return random.pick(edges) }
    let value = Double(bitPattern: random.next())
    return value.isNaN ? .nan : value
  }

  private static func float(_ random: inout SeededGenerator) -> Float {
    let edges: [Float] = [
      0, -0.0, 1, -1, 0.1, 1.5, 16_777_216, .greatestFiniteMagnitude, .leastNonzeroMagnitude, .infinity, -.infinity,
      .nan,
    ]
    if random.oneIn(2) { return random.pick(edges) }
    let value = Float(bitPattern: UInt32(truncatingIfNeeded: random.next()))
    return value.isNaN ? .nan : value
  }

  static func string(_ random: inout SeededGenerator) -> String {
    let pieces = [
      "a", "Z", "0", " ", "\"", "\\", "/", "\n", "\t", "\u{0}", "\u{1f}", "\u{7f}", "\u{80}", "é", "ß", "漢字",
      "\u{2028}",
      "\u{fffd}", "\u{ffff}", "🔔", "👩‍👩‍👧", "\u{10ffff}", "e\u{301}", "the quick brown fox", "null", "@type",
    ]
    return (0..<random.below(6)).map { _ in random.pick(pieces) }.joined()
  }
}

// MARK: - Well-known types

extension RandomMessage {
  /// Returns a message of a type with special JSON rules, with values that both codecs can write; nil for other types.
  private func wellKnown(_ name: String, _ depth: Int, _ random: inout SeededGenerator) -> [UInt8]? {
    var wire: [UInt8] = []
    switch name {
    case ".google.protobuf.Timestamp":
      let seconds = Int64(random.next() % 315_537_897_600) - 62_135_596_800
      wire.varint(
        1, UInt64(bitPattern: random.oneIn(8) ? random.pick([-62_135_596_800, 253_402_300_799, -1]) : seconds))
      wire.varint(2, Self.nanos(&random))
    case ".google.protobuf.Duration":
      let sign: Int64 = random.oneIn(2) ? 1 : -1
      let seconds = random.oneIn(3) ? 0 : Int64(random.next() % 315_576_000_000)
      wire.varint(1, UInt64(bitPattern: sign * seconds))
      wire.varint(2, UInt64(bitPattern: sign * Int64(Self.nanos(&random))))
    case ".google.protobuf.FieldMask":
      for _ in 0..<random.below(4) {
        wire.bytes(1, Array(random.pick(["title", "tap_action.value", "a.b_c.d2", "x1"]).utf8))
      }
    case ".google.protobuf.Value": wire = value(depth, &random)
    case ".google.protobuf.Any":
      guard random.oneIn(2) else { break }
      // No types with maps, because the order of their entries in the payload changes from run to run.
      let type = random.pick(["campanile.testing.v1.Scalars", "google.protobuf.Duration"])
      wire.bytes(1, Array("type.googleapis.com/\(type)".utf8))
      wire.bytes(2, make("." + type, depth: depth + 1, &random))
    default: return nil
    }
    return wire
  }

  private static func nanos(_ random: inout SeededGenerator) -> UInt64 {
    random.pick([0, 1, 1_000, 1_000_000, 500_000_000, 999_999_999, random.next() % 1_000_000_000])
  }

  private func value(_ depth: Int, _ random: inout SeededGenerator) -> [UInt8] {
    var wire: [UInt8] = []
    switch random.below(depth >= Self.depthMax ? 4 : 6) {
    case 0: wire.varint(1, 0)
    case 1:
      let number = Self.double(&random)
      wire.fixed64(2, (number.isFinite ? number : 1).bitPattern)
    case 2: wire.bytes(3, Array(Self.string(&random).utf8))
    case 3: wire.varint(4, random.next() & 1)
    case 4: wire.bytes(5, make(".google.protobuf.Struct", depth: depth + 1, &random))
    default: wire.bytes(6, make(".google.protobuf.ListValue", depth: depth + 1, &random))
    }
    return wire
  }
}

extension [UInt8] {
  fileprivate mutating func raw(varint value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    append(UInt8(rest))
  }

  fileprivate mutating func varint(_ field: Int, _ value: UInt64) {
    raw(varint: UInt64(field) << 3)
    raw(varint: value)
  }

  fileprivate mutating func fixed64(_ field: Int, _ value: UInt64) {
    raw(varint: UInt64(field) << 3 | 1)
    for shift in 0..<8 { append(UInt8(truncatingIfNeeded: value >> (8 * UInt64(shift)))) }
  }

  fileprivate mutating func fixed32(_ field: Int, _ value: UInt32) {
    raw(varint: UInt64(field) << 3 | 5)
    for shift in 0..<4 { append(UInt8(truncatingIfNeeded: value >> (8 * UInt32(shift)))) }
  }

  fileprivate mutating func bytes(_ field: Int, _ value: [UInt8]) {
    raw(varint: UInt64(field) << 3 | 2)
    raw(varint: UInt64(value.count))
    append(contentsOf: value)
  }
}
