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

  /// Throws an error that names the file and the position of the field.
  init(file: URL) throws {
    guard FileManager.default.fileExists(atPath: file.path) else { return }
    files = [file]
    let value: Any
    do { value = try JSONSerialization.jsonObject(with: Data(contentsOf: file)) } catch {
      let reason = (error as NSError).userInfo["NSDebugDescription"] ?? error
      throw GeneratorError("\(file.path): not valid JSON: \(reason)")
    }
    guard let object = value as? [String: Any] else {
      throw GeneratorError("\(file.path): must contain a JSON object")
    }
    for (field, value) in object.sorted(by: { $0.key < $1.key }) {
      do { try set(field, value, in: file.deletingLastPathComponent()) } catch let error as GeneratorError {
        let json = try String(contentsOf: file, encoding: .utf8)
        throw GeneratorError("\(file.path):\(Self.position(of: field, in: json)): \(error)")
      }
    }
  }

  private mutating func set(_ field: String, _ value: Any, in folder: URL) throws {
    switch field {
    case "visibility":
      guard let level = value as? String, ["public", "package", "internal"].contains(level) else {
        throw GeneratorError("visibility must be \"public\", \"package\" or \"internal\"")
      }
      visibility = level
    case "modules":
      guard let names = value as? [String: String], names.values.allSatisfy(Self.isName) else {
        throw GeneratorError("modules must be an object of module names, with proto packages as keys")
      }
      modules = names
    case "imports":
      guard let folders = value as? [String] else { throw GeneratorError("imports must be an array of folders") }
      for name in folders where !FileManager.default.fileExists(atPath: folder.appending(path: name).path) {
        throw GeneratorError("imports has the folder \(name), which does not exist")
      }
      imports = folders
    case "descriptorSet":
      guard let name = value as? String, Self.isName(name) else {
        throw GeneratorError("descriptorSet must be the name of a Swift type")
      }
      descriptorSet = name
    default:
      throw GeneratorError("unknown field \(field); known are visibility, modules, imports and descriptorSet")
    }
  }

  private static func isName(_ text: String) -> Bool { text.wholeMatch(of: /[A-Za-z_][A-Za-z0-9_]*/) != nil }

  /// Returns `LINE:COLUMN` of a field's name in a JSON text.
  private static func position(of field: String, in json: String) -> String {
    // Values and proto packages may be the same text.
    let key = json.ranges(of: "\"\(field)\"").last { json[$0.upperBound...].first { !$0.isWhitespace } == ":" }
    let lines = json[..<(key?.lowerBound ?? json.startIndex)].split(separator: "\n", omittingEmptySubsequences: false)
    return "\(lines.count):\((lines.last?.count ?? 0) + 1)"
  }

  /// Returns the parameters of `protoc-gen-campanile` for the protos of a target.
  func parameters(for protos: [String]) -> [String] {
    let modules = modules.sorted { $0.key < $1.key }.map { "Module=\($0.key):\($0.value)" }
    let set = descriptorSet.map { name in ["DescriptorSet=\(name)"] + protos.map { "CommentsFrom=\($0)" } } ?? []
    return ["Visibility=\(visibility)"] + modules + set
  }
}
