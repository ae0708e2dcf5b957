import CampanileBase
internal import CampanileJSON
internal import CampanileRPC
internal import Foundation

/// A request with optional variables.
///
/// Within a JSON string, a variable's text is inserted. Elsewhere, it becomes a JSON value, with quotes if necessary.
public struct RequestTemplate: Sendable {
  enum Part: Sendable {
    case text([UInt8])
    case variable(TemplateVariable, isInString: Bool)
  }

  let parts: [Part]

  /// Parses a JSON object with `{{variable}}`s. No bytes at all are the empty object.
  ///
  /// - Parameter field: The position of the request, for errors.
  /// - Throws: `LOAD_REQUEST_INVALID` for an unknown or unterminated variable, or if the request with substituted
  ///   variables is not a JSON object.
  public init(_ bytes: [UInt8], field: String = "request") throws(LoadError) {
    var parts: [Part] = []
    var text: [UInt8] = []
    var isInString = false
    var index = 0
    while index < bytes.count {
      let byte = bytes[index]
      if byte == UInt8(ascii: "{"), index + 1 < bytes.count, bytes[index + 1] == UInt8(ascii: "{") {
        guard let end = Self.end(of: bytes, from: index + 2) else {
          throw LoadError(.requestInvalid, field: field, reason: "{{ at byte \(index) has no }}")
        }
        let name = String(decoding: bytes[(index + 2)..<end], as: UTF8.self).trimmingCharacters(in: .whitespaces)
        if !text.isEmpty { parts.append(.text(text)) }
        text = []
        parts.append(.variable(try TemplateVariable(name, field: field), isInString: isInString))
        index = end + 2
        continue
      }
      if byte == UInt8(ascii: "\\"), isInString, index + 1 < bytes.count {
        text.append(byte)
        index += 1
        text.append(bytes[index])
      } else {
        if byte == UInt8(ascii: "\"") { isInString.toggle() }
        text.append(byte)
      }
      index += 1
    }
    if !text.isEmpty { parts.append(.text(text)) }
    self.parts = parts
    try check(field: field)
  }

  private static func end(of bytes: [UInt8], from start: Int) -> Int? {
    var index = start
    while index + 1 < bytes.count {
      if bytes[index] == UInt8(ascii: "}"), bytes[index + 1] == UInt8(ascii: "}") { return index }
      index += 1
    }
    return nil
  }

  private func check(field: String) throws(LoadError) {
    var state = TemplateState(random: SplitMix64(seed: 1), sequence: 0, sequenceStep: 1, nowMs: { 0 })
    var sample: [UInt8] = []
    render(into: &sample, state: &state, lastReply: nil)
    if sample.isEmpty { return }
    let value: JSONValue
    do throws(JSONSyntaxError) {
      value = try JSONValue.parse(sample)
    } catch {
      throw LoadError(.requestInvalid, field: field, reason: error.message)
    }
    guard value.kind == .object else {
      throw LoadError(.requestInvalid, field: field, reason: "a request must be a JSON object, not \(value.kind)")
    }
  }

  /// Whether the template has no variables, so that all its requests are equal.
  var isConstant: Bool { !parts.contains { if case .variable = $0 { true } else { false } } }

  var usesReply: Bool {
    parts.contains { if case .variable(.reply, _) = $0 { true } else { false } }
  }

  /// Appends a request to `bytes`.
  func render(into bytes: inout [UInt8], state: inout TemplateState, lastReply: JSONValue?) {
    for part in parts {
      switch part {
      case .text(let text): bytes += text
      case .variable(let variable, let isInString):
        switch variable {
        case .sequence: bytes += String(state.nextSequence()).utf8
        case .random(let range): bytes += String(Int64.random(in: range, using: &state.random)).utf8
        case .nowMs: bytes += String(state.nowMs()).utf8
        case .uuid: Self.append(Self.uuid(&state.random), to: &bytes, isInString: isInString)
        case .now: Self.append(Self.timestamp(state.nowMs()), to: &bytes, isInString: isInString)
        case .reply(let pointer, let fallback):
          let value = lastReply.flatMap { try? pointer.value(in: $0) }
          Self.append(value, fallback: fallback, to: &bytes, isInString: isInString)
        }
      }
    }
  }

  private static func append(_ text: String, to bytes: inout [UInt8], isInString: Bool) {
    if isInString { bytes += text.utf8 } else { bytes += "\"\(text)\"".utf8 }
  }

  private static func append(_ value: JSONValue?, fallback: String?, to bytes: inout [UInt8], isInString: Bool) {
    switch (value, isInString) {
    case (.string(let string)?, true): bytes += string.raw.utf8
    case (let value?, _): bytes += value.serialised()
    case (nil, true): bytes += JSONString(fallback ?? "").raw.utf8
    case (nil, false): bytes += (fallback ?? "null").utf8
    }
  }

  private static func uuid(_ random: inout SplitMix64) -> String {
    let high = (random.next() & ~0xF000) | 0x4000
    let low = (random.next() & ~(0xC0 << 56)) | (0x80 << 56)
    func hex(_ value: UInt64, _ digits: Int) -> String {
      let text = String(value, radix: 16)
      return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
    return [
      hex(high >> 32, 8), hex(high >> 16 & 0xFFFF, 4), hex(high & 0xFFFF, 4), hex(low >> 48, 4),
      hex(low & 0xFFFF_FFFF_FFFF, 12),
    ].joined(separator: "-")
  }

  private static func timestamp(_ ms: Int64) -> String {
    let seconds = Date(timeIntervalSince1970: Double(ms / 1000)).formatted(Date.ISO8601FormatStyle())
    let rest = String(1000 + ms % 1000).dropFirst()
    return "\(seconds.dropLast()).\(rest)Z"
  }
}
