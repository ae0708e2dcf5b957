import CampanileContract

/// Writes the tables of messages and enums, and the page of a package's types.
struct MarkdownTypes {
  let contract: Contract
  let links: MarkdownLinks

  /// Returns the page of the types of a package that have no place on a service's page.
  func page(_ package: String) -> String {
    var text = MarkdownText()
    text.lines(
      MarkdownText.generated, "# Types of \(package)", "",
      "Messages and enums of the requests and responses of [the services](README.md).", "")
    for name in links.types[package] ?? [] {
      text.lines("## \(links.title(name))", "")
      if let message = contract.messages[name] {
        text.comment(message.documentation)
        fields(message, &text)
      } else if let item = contract.enums[name] {
        text.comment(item.documentation)
        values(item, &text)
      }
    }
    return text.text
  }

  /// Appends the table of a message's fields.
  func fields(_ message: Contract.Message, _ text: inout MarkdownText) {
    guard !message.fields.isEmpty else { return text.lines("It has no fields.", "") }
    text.table(["Field", "Type", "Constraints", "Description"]) { table in
      for field in message.fields {
        var notes = field.isDeprecated ? ["Deprecated."] : []
        if let oneof = field.oneof { notes.append("At most one field of `\(oneof)` is set.") }
        let comment = MarkdownText.cell(field.documentation)
        let constraints = MarkdownText.cell(contract.phrases(of: field).joined(separator: ", "))
        table.row([
          "`\(field.jsonName)`", links.type(field), constraints,
          (notes + (comment.isEmpty ? [] : [comment])).joined(separator: " "),
        ])
      }
    }
  }

  private func values(_ item: Contract.Enumeration, _ text: inout MarkdownText) {
    text.table(["Value", "Description"]) { table in
      for value in item.values {
        let notes = value.isDeprecated ? "Deprecated. " : ""
        table.row(["`\(value.name)`", notes + MarkdownText.cell(value.documentation)])
      }
    }
  }
}
