/// The plugin's parameters.
struct Options {
  /// `public `, `package ` or nothing: the access of declarations, with a space.
  var access = ""
  /// `public `, `package ` or nothing: the access of imports, with a space.
  var importAccess = ""
  /// The Swift prefix of each proto package that has one.
  var prefixes: [String: String] = [:]
  /// The name of the enum and file that hold the descriptor set.
  var descriptorSet: String?
  /// The beginnings of the names of those files whose comments the descriptor set keeps.
  var commentsFrom: [String] = []

  init(_ pairs: [(key: String, value: String)]) throws {
    for (key, value) in pairs {
      switch key {
      case "Visibility":
        guard ["public", "package", "internal"].contains(value.lowercased()) else {
          throw GeneratorError("Visibility must be public, package or internal, not \(value)")
        }
        access = value.lowercased() == "internal" ? "" : value.lowercased() + " "
        importAccess = access
      case "Prefix":
        let parts = value.split(separator: ":")
        guard parts.count == 2 else { throw GeneratorError("Prefix must be PACKAGE:PREFIX, not \(value)") }
        prefixes[String(parts[0])] = String(parts[1])
      case "DescriptorSet": descriptorSet = value
      case "CommentsFrom": commentsFrom.append(value)
      default: throw GeneratorError("there is no parameter \(key)")
      }
    }
  }
}
