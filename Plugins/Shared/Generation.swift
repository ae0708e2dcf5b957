import Foundation
import PackagePlugin

/// The generation of Swift from the protos in a target's folder. The folder is the root of the protos' names.
struct Generation {
  /// The protobuf compiler.
  let program: URL
  /// The files whose changes may change the generated code.
  let inputs: [URL]
  private let names: [String]
  private let includes: [String]
  private let options: Options

  /// Reads the options of a target, and has `protoc` check its protos.
  ///
  /// - Returns: Nil after faults in the target's files, which are reported with their positions.
  init?(folder root: URL, protos: [URL]) throws {
    let protos = protos.sorted { $0.path < $1.path }
    guard !protos.isEmpty else { throw GeneratorError("no .proto file in \(root.path)") }
    let optionsFile = root.appending(path: Options.fileName)
    do { options = try Options(file: optionsFile) } catch let error as GeneratorError {
      Diagnostics.error("\(error)", file: optionsFile.path)
      return nil
    }
    let protoc = try Protoc(folders: [root] + options.imports.map { root.appending(path: $0) })
    names = protos.map { String($0.path.dropFirst(root.path.count).drop { $0 == "/" }) }
    guard try protoc.accepts(names) else { return nil }
    program = protoc.program
    includes = protoc.includes
    inputs = protos + protoc.imported + options.files
  }

  /// Returns the arguments of `program`.
  func arguments(generator: URL, output: URL) -> [String] {
    includes + ["--plugin=protoc-gen-campanile=\(generator.path)", "--campanile_out=\(output.path)"]
      + options.parameters(for: names).map { "--campanile_opt=\($0)" } + names
  }

  /// The names of the generated files.
  var outputs: [String] {
    (names.map { String($0.dropLast(".proto".count)).replacing("/", with: "_") }
      + [options.descriptorSet].compactMap(\.self)).map { $0 + ".swift" }
  }
}

/// An error whose text names the cause and the remedy.
struct GeneratorError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
