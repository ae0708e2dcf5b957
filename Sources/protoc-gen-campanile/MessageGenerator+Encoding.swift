import SwiftProtobuf
import SwiftProtobufPluginLibrary

extension MessageGenerator {
  func encoder(_ source: inout SourceText) {
    source.block("\(access)func encode(to writer: inout JSONWriter)") { source in
      source.line("let object = writer.beginObject()")
      var oneofs: Set<String> = []
      for field in fields.sorted(by: { $0.field.number < $1.field.number }) {
        if let oneof = field.field.realContainingOneof {
          if oneofs.insert(oneof.name).inserted { write(oneof, &source) }
        } else {
          write(field, &source)
        }
      }
      source.line("writer.endObject(object)")
    }
  }

  /// Returns the statement that writes the beginning of a member: `,"name":`.
  private func start(_ field: FieldModel) -> String {
    "writer.name(\(literal("," + jsonLiteral(field.jsonNames[0]) + ":")))"
  }

  private func write(_ oneof: OneofDescriptor, _ source: inout SourceText) {
    source.line("switch self.\(names.member(oneof.name)) {")
    for field in fields where field.field.realContainingOneof === oneof {
      source.line("case .\(field.name)(let value):")
      source.indented { source in source.line(start(field), field.value.write("value")) }
    }
    source.line("case nil: break", "}")
  }

  private func write(_ field: FieldModel, _ source: inout SourceText) {
    let value = field.value
    switch field.shape {
    case .plain:
      source.block("if \(value.isPresent(field.property))") { source in
        source.line(start(field), value.write(field.property))
      }
    case .optional(let boxed):
      source.block("if let value = \(boxed ? "self." + field.boxName + "?.value" : field.property)") { source in
        source.line(start(field), value.write("value"))
      }
    case .oneof: break
    case .repeated:
      source.block("if !\(field.property).isEmpty") { source in
        source.line(start(field), "let array = writer.beginArray()")
        source.block("for element in \(field.property)") { source in
          source.line("writer.nextElement()", value.write("element"))
        }
        source.line("writer.endArray(array)")
      }
    case .map(_, let keyField):
      source.block("if !\(field.property).isEmpty") { source in
        source.line(start(field), "let entries = writer.beginObject()")
        // Sorted by key, so that equal messages have equal texts.
        source.block("for key in \(Self.sortedKeys(keyField, field.property))") { source in
          source.line("guard let value = \(field.property)[key] else { continue }")
          source.line("writer.key(key)", value.write("value"))
        }
        source.line("writer.endObject(entries)")
      }
    }
  }

  static func sortedKeys(_ key: FieldDescriptor, _ property: String) -> String {
    switch key.type {
    case .bool: "[false, true]"
    case .string: "\(property).keysByUTF8"
    default: "\(property).keys.sorted()"
    }
  }
}
