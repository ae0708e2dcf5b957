import CampanileAPI
import CampanileCodec
import CampanileService

/// Validates templates by the rules that their constraints cannot express, and renders notifications from them.
enum TemplateRules {
  static let variablesMax = 64

  static func check(_ template: Template, _ path: String, _ violations: inout Violations) {
    for field in TemplateField.allCases { check(field, of: template, path, &violations) }
    checkVariableCount(template, path, &violations)
  }

  static func check(_ field: TemplateField, of template: Template, _ path: String, _ violations: inout Violations) {
    switch field {
    case .name: break
    case .title: checkSyntax(template.title, "\(path).title", &violations)
    case .subtitle: checkSyntax(template.subtitle ?? "", "\(path).subtitle", &violations)
    case .body: checkSyntax(template.body ?? "", "\(path).body", &violations)
    }
  }

  /// A publication can set at most this many variables, so a template with more could never be used.
  static func checkVariableCount(_ template: Template, _ path: String, _ violations: inout Violations) {
    if names(in: template).count > variablesMax {
      violations.add(path, "must have at most \(variablesMax) variables", .tooMany)
    }
  }

  /// The required variables, in the order of their first use in title, subtitle and body.
  static func requiredVariables(of template: Template) -> [String] {
    var seen: Set<String> = []
    return variables(in: template).compactMap { $0.isRequired && seen.insert($0.name).inserted ? $0.name : nil }
  }

  /// Renders title, subtitle and body where `draft` has none.
  ///
  /// Adds violations of `<prefix>variables.NAME`: `TEMPLATE_VARIABLE_MISSING` for a variable that a rendered text
  /// requires, and `TEMPLATE_VARIABLE_UNKNOWN` for one that the template does not have. A text that becomes too long is
  /// a violation of `<prefix>notification.FIELD`. If there is any violation, the draft remains unchanged.
  static func render(
    template: Template, variables values: [String: String], into draft: inout Notification, prefix: String = "",
    _ violations: inout Violations
  ) {
    let count = violations.items.count
    let known = names(in: template)
    for name in values.keys.sorted() where !known.contains(name) {
      violations.add("\(prefix)variables.\(name)", "is not a variable of the template", .templateVariableUnknown)
    }
    var filled = draft
    var missing: Set<String> = []
    func fill(_ text: String?, _ field: String, sizeBytesMax: Int) -> String? {
      guard let text else { return nil }
      guard let parsed = try? TemplateText(text) else {
        violations.add("\(prefix)templateId", "is a template with an invalid \(field)", .templateSyntaxInvalid)
        return nil
      }
      for case .variable(let name, nil) in parsed.parts where values[name] == nil && missing.insert(name).inserted {
        violations.add("\(prefix)variables.\(name)", "must be given for the template", .templateVariableMissing)
      }
      guard let rendered = parsed.rendered(values, sizeBytesMax: sizeBytesMax) else {
        violations.add("\(prefix)notification.\(field)", "is too long once rendered from the template", .tooLong)
        return nil
      }
      return rendered
    }
    // A code point has at most four bytes of UTF-8. The rules of notifications count code points exactly.
    if draft.title.isEmpty {
      filled.title = fill(template.title, "title", sizeBytesMax: NotificationRules.titleMax * 4) ?? ""
    }
    if draft.subtitle == nil {
      filled.subtitle = fill(template.subtitle, "subtitle", sizeBytesMax: NotificationRules.subtitleMax * 4)
    }
    if draft.body == nil {
      filled.body = fill(template.body, "body", sizeBytesMax: NotificationRules.bodySizeBytesMax)
    }
    if violations.items.count == count { draft = filled }
  }

  private static func checkSyntax(_ text: String, _ path: String, _ violations: inout Violations) {
    // A longer text is already rejected and not worth parsing.
    guard text.utf8.count <= NotificationRules.bodySizeBytesMax else { return }
    do throws(TemplateText.Fault) {
      _ = try TemplateText(text)
    } catch {
      violations.add(path, "\(error.description) (at byte \(error.offsetBytes))", .templateSyntaxInvalid)
    }
  }

  private static func names(in template: Template) -> Set<String> { Set(variables(in: template).map(\.name)) }

  private static func variables(in template: Template) -> [(name: String, isRequired: Bool)] {
    [template.title, template.subtitle ?? "", template.body ?? ""].flatMap { text in
      ((try? TemplateText(text))?.parts ?? []).compactMap { part in
        if case .variable(let name, let whenMissing) = part { (name, whenMissing == nil) } else { nil }
      }
    }
  }
}

/// The fields of a template that callers may change.
enum TemplateField: String, MaskableField {
  case name, title, subtitle, body

  func isSet(in message: Template) -> Bool {
    switch self {
    case .name: !message.name.isEmpty
    case .title: !message.title.isEmpty
    case .subtitle: message.subtitle != nil
    case .body: message.body != nil
    }
  }

  func copy(from source: Template, to target: inout Template) {
    switch self {
    case .name: target.name = source.name
    case .title: target.title = source.title
    case .subtitle: target.subtitle = source.subtitle
    case .body: target.body = source.body
    }
  }
}
