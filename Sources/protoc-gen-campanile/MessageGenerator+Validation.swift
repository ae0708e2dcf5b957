import CampanileContract
import SwiftProtobuf
import SwiftProtobufPluginLibrary

extension MessageGenerator {
  /// Whether the message or a message inside has constraints. Nobody validates responses, which have the names that
  /// Buf's rules require.
  static func isValidated(_ message: Descriptor) throws -> Bool {
    if message.name.hasSuffix("Response") { return false }
    var seen: Set<String> = []
    return try isValidated(message, &seen)
  }

  private static func isValidated(_ message: Descriptor, _ seen: inout Set<String>) throws -> Bool {
    guard seen.insert(message.fullName).inserted, !message.fullName.hasPrefix("google.protobuf.") else { return false }
    for oneof in message.realOneofs where try OneofRules(oneof.options.unknownFields.data).isRequired { return true }
    for field in message.fields {
      let rules = try FieldRules(field)
      if rules.isIgnored { continue }
      if !rules.isEmpty { return true }
      if let inner = field.containedMessage, try isValidated(inner, &seen) { return true }
    }
    return false
  }

  func validation(_ source: inout SourceText) throws {
    source.line("")
    for (name, pattern) in patternConstants() {
      source.line("private static let \(name) = \(try PatternCompiler.expression(pattern))", "")
    }
    try source.block("\(access)func validate(into violations: inout Violations)") { source in
      for oneof in message.realOneofs where try OneofRules(oneof.options.unknownFields.data).isRequired {
        source.line("if self.\(names.member(oneof.name)) == nil { violations.absent(\(jsonName(oneof))) }")
      }
      for field in fields where !field.rules.isIgnored { try validation(field, &source) }
    }
  }

  /// The patterns of the message with the names of their constants.
  private func patternConstants() -> [(name: String, pattern: String)] {
    var patterns: [String] = []
    for field in fields where !field.rules.isIgnored {
      for case .text(_, _, let pattern?, _)? in ([field.rules] + field.rules.elements + field.rules.keys).map(\.kind)
      where !patterns.contains(pattern) {
        patterns.append(pattern)
      }
    }
    return patterns.enumerated().map { ("textPattern\($0)", $1) }
  }

  private func jsonName(_ oneof: OneofDescriptor) -> String { literal(Names.camelCase(oneof.name)) }

  private func validation(_ field: FieldModel, _ source: inout SourceText) throws {
    let rules = field.rules
    let inner = try field.field.containedMessage.map { try Self.isValidated($0) } ?? false
    guard !rules.isEmpty || inner else { return }
    let name = literal(field.jsonNames[0])
    switch field.shape {
    case .plain:
      var lines = checks(rules, field.property, name)
      if rules.isRequiredNumber {
        let absent = "if !(\(field.value.isPresent(field.property))) { violations.absent(\(name)) }"
        lines = [absent + lines.map { " else { \($0) }" }.joined()]
      }
      for line in lines { source.line(line) }
    case .optional, .oneof:
      // A value with presence is checked even if it is empty, as by protovalidate.
      var present = rules
      present.allowsZero = false
      var body = checks(present, "value", name)
      if inner {
        body += [
          "let count = violations.count", "value.validate(into: &violations)",
          "violations.move(after: count, into: \(name))",
        ]
      }
      let missing = rules.isRequired ? "violations.absent(\(name))" : nil
      var head = "if let value = \(field.property)"
      if case .oneof(let property, _) = field.shape { head = "if case .\(field.name)(let value)? = self.\(property)" }
      if body.isEmpty, let missing {
        if case .oneof(let property, _) = field.shape {
          source.line("if case .\(field.name)? = self.\(property) {} else { \(missing) }")
        } else {
          source.line("if \(field.property) == nil { \(missing) }")
        }
      } else {
        source.line("\(head) {")
        source.indented { source in for line in body { source.line(line) } }
        if let missing { source.line("} else {", "  \(missing)") }
        source.line("}")
      }
    case .repeated:
      elements(field, name, inner, &source)
    case .map:
      entries(field, name, inner, &source)
    }
  }

  private func elements(_ field: FieldModel, _ name: String, _ inner: Bool, _ source: inout SourceText) {
    let rules = field.rules
    counts(field, name, &source)
    if rules.elements.contains(where: \.isIgnored) { return }
    if inner {
      source.line("violations.elements(\(field.property), \(name))")
      return
    }
    let body = rules.elements.flatMap { checks($0, "value", "\"\"") }
    if body.isEmpty { return }
    source.block("for (index, value) in \(field.property).enumerated()") { source in
      source.line("let count = violations.count")
      for line in body { source.line(line) }
      source.line("violations.move(after: count, into: \(name), index: index)")
    }
  }

  private func entries(_ field: FieldModel, _ name: String, _ inner: Bool, _ source: inout SourceText) {
    let rules = field.rules
    counts(field, name, &source)
    guard case .map(_, let keyField) = field.shape else { return }
    var body = rules.keys.flatMap { checks($0, "key", "\"\"") }
    let keyChecks = body.count
    if !rules.elements.contains(where: \.isIgnored) {
      body += rules.elements.flatMap { checks($0, "value", "\"\"") }
      if inner { body.append("value.validate(into: &violations)") }
    }
    if body.isEmpty { return }
    // Sorted by key, so that equal messages have equal errors.
    source.block("for key in \(Self.sortedKeys(keyField, field.property))") { source in
      let binding = body.count > keyChecks ? "let value = \(field.property)[key]" : "\(field.property)[key] != nil"
      source.line("guard \(binding) else { continue }")
      source.line("let count = violations.count")
      for line in body { source.line(line) }
      let key = keyField.type == .string ? "key" : "\"\\(key)\""
      source.line("violations.move(after: count, into: \(name), key: \(key))")
    }
  }

  /// Writes the check of the number of entries of a list or a map.
  private func counts(_ field: FieldModel, _ name: String, _ source: inout SourceText) {
    var bounds = FieldRules.Bounds()
    switch field.rules.kind {
    case .repeated(let counts), .map(let counts): bounds = counts
    default: break
    }
    if field.rules.isRequired { bounds.min = max(bounds.min ?? 0, 1) }
    guard let arguments = Self.arguments(bounds) else { return }
    let check = "violations.entries(\(field.property).count, \(name)\(arguments))"
    source.line(field.rules.allowsZero ? "if !\(field.property).isEmpty { \(check) }" : check)
  }

  /// Returns the statements that check one value.
  private func checks(_ rules: FieldRules, _ value: String, _ name: String) -> [String] {
    var lines: [String] = []
    var isEmpty = "\(value).isEmpty"
    switch rules.kind {
    case nil:
      return []
    case .text(let characters, let bytes, let pattern, let values):
      // Without another rule, a text is checked for U+0000.
      if !characters.isEmpty || (bytes.isEmpty && pattern == nil && values.isEmpty) {
        lines.append("violations.text(\(value), \(name)\(Self.arguments(characters) ?? ""))")
      }
      if let arguments = Self.arguments(bytes) { lines.append("violations.textBytes(\(value), \(name)\(arguments))") }
      let patterns = patterns(rules, pattern, values, value, name)
      if characters.min == 1, characters.max == nil, bytes.isEmpty, patterns.count == 1 {
        // An empty text is not also reported for its pattern, nor a text outside its pattern for U+0000.
        lines = ["if \(value).isEmpty { \(lines[0]) } else { \(patterns[0]) }"]
      } else {
        lines += patterns
      }
    case .bytes(let sizes):
      if let arguments = Self.arguments(sizes) { lines.append("violations.bytes(\(value), \(name)\(arguments))") }
    case .number(let range):
      isEmpty = "\(value) == 0"
      let bounds = (range.lowest.map { ", from: \($0)" } ?? "") + (range.highest.map { ", to: \($0)" } ?? "")
      if !bounds.isEmpty { lines.append("violations.range(\(value), \(name)\(bounds))") }
    case .duration(let range):
      let bounds = (range.lowest.map { ", from: \($0)" } ?? "") + (range.highest.map { ", to: \($0)" } ?? "")
      if !bounds.isEmpty { lines.append("violations.duration(\(value), \(name)\(bounds))") }
    case .enumeration(let values):
      isEmpty = "\(value).rawValue == 0"
      if let listed = values.listed {
        lines.append("violations.enumeration(\(value), \(name), in: \(listed))")
      } else {
        if values.isDefined { lines.append("violations.enumeration(\(value), \(name))") }
        if values.isSpecified { lines.append("violations.specified(\(value), \(name))") }
        if !values.excluded.isEmpty {
          lines.append("violations.enumeration(\(value), \(name), notIn: \(values.excluded))")
        }
      }
    case .repeated, .map: return []
    }
    return rules.allowsZero ? lines.map { "if !(\(isEmpty)) { \($0) }" } : lines
  }

  private func patterns(
    _ rules: FieldRules, _ pattern: String?, _ values: [String], _ value: String, _ name: String
  ) -> [String] {
    var lines: [String] = []
    if let constant = patternConstants().first(where: { $0.pattern == pattern })?.name, let pattern {
      let description = rules.description.isEmpty ? "must match \(pattern)" : rules.description
      lines.append(
        "violations.pattern(\(value), \(name), Self.\(constant), \(literal(description)), "
          + "reason: \(literal(rules.reason.isEmpty ? "TEXT_INVALID" : rules.reason)))")
    }
    if !values.isEmpty {
      let description =
        rules.description.isEmpty ? "must be one of \(values.joined(separator: ", "))" : rules.description
      let list = values.map(literal).joined(separator: ", ")
      lines.append(
        "violations.oneOf(\(value), \(name), [\(list)], \(literal(description)), "
          + "reason: \(literal(rules.reason.isEmpty ? "VALUE_UNKNOWN" : rules.reason)))")
    }
    return lines
  }

  /// Returns the arguments `, min: 1, max: 64`, or nil without bounds.
  private static func arguments(_ bounds: FieldRules.Bounds) -> String? {
    if bounds.isEmpty { return nil }
    return (bounds.min.map { ", min: \($0)" } ?? "") + (bounds.max.map { ", max: \($0)" } ?? "")
  }
}
