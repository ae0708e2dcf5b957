import CampanileContract
import SwiftProtobuf
import SwiftProtobufPluginLibrary

/// Checks that different declarations of a scope have different Swift names, before the compiler finds two in generated
/// code. Errors name the file, the line and the column of the second one.
struct NameChecker {
  let names: Names
  let options: Options

  /// The Swift names of a scope, each with the declaration that has it.
  private struct Scope {
    var owners: [String: String] = [:]

    mutating func add(
      _ name: String, _ fullName: String, _ declaration: some ProvidesSourceCodeLocation, in file: FileDescriptor
    ) throws {
      if let owner = owners.updateValue(fullName, forKey: name) {
        throw declaration.fault(in: file, "\(fullName): its Swift name, \(name), is also that of \(owner)")
      }
    }
  }

  func check(_ files: [FileDescriptor]) throws {
    var types = Scope()
    if let name = options.descriptorSet { types.owners[name] = "the descriptor set" }
    for file in files {
      if options.parts.contains(.messages) {
        for enumeration in file.enums {
          try types.add(names.type(enumeration), enumeration.fullName, enumeration, in: file)
          try check(enumeration)
        }
        for message in file.messages {
          try types.add(names.type(message), message.fullName, message, in: file)
          try check(message)
        }
      }
      for service in file.services {
        let suffixes =
          (options.parts.contains(.clients) ? ["Methods", "Client"] : [])
          + (options.parts.contains(.servers) ? ["Protocol"] : [])
        for suffix in suffixes { try types.add(names.type(service) + suffix, service.fullName, service, in: file) }
        if !suffixes.isEmpty { try check(service) }
      }
    }
  }

  private func check(_ message: Descriptor) throws {
    let file: FileDescriptor = message.file
    var (members, types) = (Scope(), Scope())
    for field in message.fields where field.realContainingOneof == nil {
      try members.add(names.member(field.name), field.fullName, field, in: file)
    }
    for oneof in message.realOneofs {
      try members.add(names.member(oneof.name), oneof.fullName, oneof, in: file)
      try types.add(names.type(oneof), oneof.fullName, oneof, in: file)
      var cases = Scope()
      for field in oneof.fields { try cases.add(names.member(field.name), field.fullName, field, in: file) }
    }
    for enumeration in message.enums {
      let name = names.declared(enumeration.name, nestedIn: message, package: file.package)
      try types.add(name, enumeration.fullName, enumeration, in: file)
      try check(enumeration)
    }
    for nested in message.messages where !nested.options.mapEntry {
      let name = names.declared(nested.name, nestedIn: message, package: file.package)
      try types.add(name, nested.fullName, nested, in: file)
      try check(nested)
    }
  }

  private func check(_ enumeration: EnumDescriptor) throws {
    var cases = Scope()
    for (value, name) in zip(enumeration.values, names.cases(enumeration)) {
      try cases.add(name, value.fullName, value, in: enumeration.file)
    }
  }

  private func check(_ service: ServiceDescriptor) throws {
    // The table of methods, which is generated with the client, has two other constants.
    var functions = Scope(
      owners: options.parts.contains(.clients)
        ? ["all": "the list of methods", "serviceName": "the name of the service"] : [:])
    for method in service.methods {
      try functions.add(names.function(method), method.fullName, method, in: service.file)
    }
  }
}
