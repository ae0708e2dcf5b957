extension JSONScanner {
  func save(to writer: inout StateWriter) {
    limits.save(to: &writer)
    state.save(to: &writer)
    writer.write(failure != nil)
    guard let failure else { return }
    writer.write(failure.code.description)
    writer.write(UInt64(bitPattern: failure.byteOffset))
    writer.write(failure.expected)
    writer.write(failure.found)
  }

  init(from reader: inout StateReader, sink: Sink) throws(JSONStateError) {
    self.init(limits: try JSONLimits(from: &reader), sink: sink)
    state = try ScanState(from: &reader, depthMax: limits.depthMax)
    guard state.offset <= limits.sizeBytesMax else { throw JSONStateError() }
    if try reader.bool() { fail(try JSONSyntaxError(from: &reader)) }
  }
}

extension JSONSyntaxError {
  init(from reader: inout StateReader) throws(JSONStateError) {
    let name = try reader.string(atMost: 64)
    let codes: [Code] = [
      .unexpectedByte, .unexpectedEnd, .trailingBytes, .controlCharacter, .invalidEscape, .loneSurrogate, .invalidUTF8,
      .depthExceeded, .sizeExceeded, .namesExceeded,
    ]
    guard let code = codes.first(where: { $0.description == name }) else { throw JSONStateError() }
    let offset = Int64(try reader.int(in: 0...Int.max))
    self.init(
      code, byteOffset: offset, expected: try reader.string(atMost: 256), found: try reader.string(atMost: 256))
  }
}

extension JSONLimits {
  func save(to writer: inout StateWriter) {
    writer.write(depthMax)
    writer.write(UInt64(bitPattern: sizeBytesMax))
    writer.write(UInt64(duplicateNames.rawValue))
    writer.write(UInt64(loneSurrogates.rawValue))
    writer.write(namesMax)
    writer.write(duplicatesMax)
  }

  init(from reader: inout StateReader) throws(JSONStateError) {
    let depthMax = try reader.int(in: 0...Self.depthCeiling)
    let sizeBytesMax = Int64(try reader.int(in: 0...Int.max))
    guard let duplicateNames = DuplicateNames(rawValue: try reader.byte()),
      let loneSurrogates = LoneSurrogates(rawValue: try reader.byte())
    else { throw JSONStateError() }
    self.init(
      depthMax: depthMax, sizeBytesMax: sizeBytesMax, duplicateNames: duplicateNames, loneSurrogates: loneSurrogates,
      namesMax: try reader.int(in: 0...Int.max), duplicatesMax: try reader.int(in: 0...Int.max))
  }
}

extension ScanState {
  func save(to writer: inout StateWriter) {
    for value in [expecting, lexeme.rawValue, progress, lowest, highest, firstByte] { writer.write(UInt64(value)) }
    writer.write(UInt64(codeUnit))
    writer.write(needsLow)
    writer.write(inName)
    writer.write(UInt64(bitPattern: offset))
    writer.write(depth)
    writer.write(deepest)
    writer.write(innermost)
    writer.write(outer)
  }

  /// Restores a state. Checks each field against the others, as far as further scanning depends on it.
  init(from reader: inout StateReader, depthMax: Int) throws(JSONStateError) {
    expecting = try reader.byte(upTo: Grammar.Expecting.last)
    guard let lexeme = Lexeme(rawValue: try reader.byte()) else { throw JSONStateError() }
    self.lexeme = lexeme
    progress = try reader.byte(upTo: 7)
    lowest = try reader.byte()
    highest = try reader.byte()
    firstByte = try reader.byte()
    codeUnit = UInt16(try reader.int(in: 0...0xFFFF))
    needsLow = try reader.bool()
    inName = try reader.bool()
    offset = Int64(try reader.int(in: 0...Int.max / 2))
    depth = try reader.int(in: 0...depthMax)
    deepest = try reader.int(in: depth...max(depth, depthMax))
    innermost = try reader.uint64()
    outer = try reader.uint64s(atMost: JSONLimits.depthCeiling / 64)
    guard isConsistent else { throw JSONStateError() }
  }

  private var isConsistent: Bool {
    guard outer.count == (depth == 0 ? 0 : (depth - 1) / 64) else { return false }
    switch lexeme {
    case .hex where progress > 3: return false
    case .utf8 where !(1...3).contains(progress): return false
    case .literal where !(1...4).contains(progress): return false
    default: break
    }
    typealias Expecting = Grammar.Expecting
    switch expecting {
    case Expecting.topValue, Expecting.nothing: return depth == 0
    case Expecting.firstElement, Expecting.element, Expecting.elementEnd: return depth > 0 && !isInObject
    default: return depth > 0 && isInObject
    }
  }
}
