import CampanileContract

/// The plugin's parameters.
struct Options {
  enum Language: String { case swift, typeScript = "ts", markdown }

  var language = Language.swift
  /// The module specifier of the TypeScript runtime, relative to the generated modules.
  var runtime = "../campanile.js"
  /// The access modifier of declarations with a trailing space: `public `, `package ` or empty.
  var access = ""
  /// The access modifier of imports with a trailing space: `public `, `package ` or empty.
  var importAccess = ""
  /// The Swift prefixes by proto package.
  var prefixes: [String: String] = [:]
  /// Whether messages are tables, and not code for each field.
  var hasTables = false
  /// The kinds of declarations to generate.
  var parts: Set<Part> = []
  /// The module of the messages that services use, if they are not in the same one.
  var messagesModule: String?
  /// The modules of messages by proto package, for files of other packages.
  var modules: [String: String] = [:]
  /// The name of the descriptor set's enum and file.
  var descriptorSet: String?
  /// The name prefixes of files whose comments are included in the descriptor set.
  var commentsFrom: [String] = []

  init(_ pairs: [(key: String, value: String)]) throws {
    for (key, value) in pairs {
      switch key {
      case "Visibility":
        guard ["public", "package", "internal"].contains(value.lowercased()) else {
          throw ContractError("Visibility must be public, package or internal, not \(value)")
        }
        access = value.lowercased() == "internal" ? "" : value.lowercased() + " "
        importAccess = access
      case "Prefix":
        let parts = value.split(separator: ":")
        guard parts.count == 2 else { throw ContractError("Prefix must be PACKAGE:PREFIX, not \(value)") }
        prefixes[String(parts[0])] = String(parts[1])
      case "Part":
        guard let part = Part(rawValue: value) else {
          throw ContractError("Part must be messages, clients or servers, not \(value)")
        }
        parts.insert(part)
      case "Storage":
        guard ["fields", "tables"].contains(value) else {
          throw ContractError("Storage must be fields or tables, not \(value)")
        }
        hasTables = value == "tables"
      case "MessagesModule": messagesModule = value
      case "Module":
        let parts = value.split(separator: ":")
        guard parts.count == 2 else { throw ContractError("Module must be PACKAGE:MODULE, not \(value)") }
        modules[String(parts[0])] = String(parts[1])
      case "Language":
        guard let known = Language(rawValue: value) else {
          throw ContractError("Language must be swift, ts or markdown, not \(value)")
        }
        language = known
      case "Runtime": runtime = value
      case "DescriptorSet": descriptorSet = value
      case "CommentsFrom": commentsFrom.append(value)
      default: throw ContractError("unknown parameter \(key)")
      }
    }
    if parts.isEmpty { parts = Set(Part.allCases) }
  }
}

/// A kind of generated declarations. Clients include the table of methods, which servers use.
enum Part: String, CaseIterable {
  case messages, clients, servers
}
