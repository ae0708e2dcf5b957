import SwiftProtobufPluginLibrary

/// Lines of Swift source with indentation.
struct SourceText {
  private(set) var text = ""
  private var depth = 0

  /// Appends lines at the current depth.
  mutating func line(_ lines: String...) {
    for line in lines {
      text += line.isEmpty ? "\n" : String(repeating: "  ", count: depth) + line + "\n"
    }
  }

  /// Appends `head {`, the output of `body` one level deeper, and `}`.
  mutating func block(_ head: String, _ body: (inout SourceText) throws -> Void) rethrows {
    line(head + " {")
    try indented(body)
    line("}")
  }

  mutating func indented(_ body: (inout SourceText) throws -> Void) rethrows {
    depth += 1
    try body(&self)
    depth -= 1
  }

  /// Keeps the code of the following declaration out of its module, if messages are tables: an app has the code of the
  /// fields and the methods that it uses. The linker keeps the public functions of a module.
  mutating func inlined(_ options: Options) {
    if options.hasTables, options.access == "public " { line("@_alwaysEmitIntoClient") }
  }

  /// Appends a declaration's comment from the proto.
  mutating func comment(_ source: some ProvidesSourceCodeLocation) {
    for text in source.protoSourceComments(commentPrefix: "///").split(separator: "\n") {
      line(String(text))
    }
  }
}

/// Returns a Swift string literal.
func literal(_ text: String) -> String {
  var result = "\""
  for scalar in text.unicodeScalars {
    switch scalar {
    case "\"": result += "\\\""
    case "\\": result += "\\\\"
    case "\n": result += "\\n"
    default:
      if scalar.value < 0x20 {
        result += "\\u{\(String(scalar.value, radix: 16))}"
      } else {
        result.unicodeScalars.append(scalar)
      }
    }
  }
  return result + "\""
}

/// Returns a Swift string literal that contains `text` as a JSON string.
func jsonLiteral(_ text: String) -> String {
  var json = "\""
  for scalar in text.unicodeScalars {
    switch scalar {
    case "\"": json += "\\\""
    case "\\": json += "\\\\"
    default:
      if scalar.value < 0x20 {
        let digits = String(scalar.value, radix: 16)
        json += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      } else {
        json.unicodeScalars.append(scalar)
      }
    }
  }
  return json + "\""
}
