import Foundation

/// The options of a target, from `campanile-generator.json` in its folder. Every field, and the file, may be absent.
struct Options {
  static let fileName = "campanile-generator.json"

  /// The file, if it exists.
  private(set) var files: [URL] = []
  /// `visibility`: the access level of generated declarations, `public`, `package` or `internal`, the default.
  private var visibility = "internal"
  /// `modules`: the Swift modules of messages in other targets, by proto package.
  private var modules: [String: String] = [:]
  /// `imports`: folders of imported protos, relative to the target's folder.
  private(set) var imports: [String] = []
  /// `descriptorSet`: the name of an enum with the protos' descriptors, for reflection.
  private(set) var descriptorSet: String?

  /// Throws an error that names the field.
  init(file: URL) throws {
    guard FileManager.default.fileExists(atPath: file.path) else { return }
    files = [file]
    let value: Any
    do { value = try JSONSerialization.jsonObject(with: Data(contentsOf: file)) } catch {
      throw GeneratorError("not valid JSON: \(error)")
    }
    guard let object = value as? [String: Any] else { throw GeneratorError("must contain a JSON object") }
    for (field, value) in object.sorted(by: { $0.key < $1.key }) {
      switch field {
      case "visibility":
        guard let level = value as? String, ["public", "package", "internal"].contains(level) else {
          throw GeneratorError("visibility must be \"public\", \"package\" or \"internal\"")
        }
        visibility = level
      case "modules":
        guard let names = value as? [String: String] else {
          throw GeneratorError("modules must be an object of module names, with proto packages as keys")
        }
        modules = names
      case "imports":
        guard let folders = value as? [String] else { throw GeneratorError("imports must be an array of folders") }
        imports = folders
      case "descriptorSet":
        guard let name = value as? String, name.wholeMatch(of: /[A-Za-z_][A-Za-z0-9_]*/) != nil else {
          throw GeneratorError("descriptorSet must be the name of a Swift type")
        }
        descriptorSet = name
      default:
        throw GeneratorError(
          "unknown field \(field); known are visibility, modules, imports and descriptorSet")
      }
    }
  }

  /// Returns the parameters of `protoc-gen-campanile` for the protos of a target.
  func parameters(for protos: [String]) -> [String] {
    let modules = modules.sorted { $0.key < $1.key }.map { "Module=\($0.key):\($0.value)" }
    let set = descriptorSet.map { name in ["DescriptorSet=\(name)"] + protos.map { "CommentsFrom=\($0)" } } ?? []
    return ["Visibility=\(visibility)"] + modules + set
  }
}
