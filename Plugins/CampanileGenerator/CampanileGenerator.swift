import Foundation
import PackagePlugin

/// Generates messages, service protocols and clients from the protos in a target's folder, with `protoc`.
///
/// The folder is the root of the protos' names. `campanile-generator.json` in it contains options; see `Options`.
@main
struct CampanileGenerator: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
    guard let target = target as? any SourceModuleTarget else {
      throw GeneratorError("\(target.name) has no source files, so it cannot use CampanileGenerator")
    }
    let root = target.directoryURL
    let protos = target.sourceFiles(withSuffix: ".proto").map(\.url).sorted { $0.path < $1.path }
    guard !protos.isEmpty else { throw GeneratorError("no .proto file in \(root.path)") }
    let optionsFile = root.appending(path: Options.fileName)
    let options: Options
    do { options = try Options(file: optionsFile) } catch let error as GeneratorError {
      Diagnostics.error("\(optionsFile.path): \(error)", file: optionsFile.path)
      return []
    }
    let protoc = try Protoc(folders: [root] + options.imports.map { root.appending(path: $0) })
    let names = protos.map { String($0.path.dropFirst(root.path.count).drop { $0 == "/" }) }
    guard try protoc.accepts(names) else { return [] }

    let generator = try context.tool(named: "protoc-gen-campanile").url
    let output = context.pluginWorkDirectoryURL
    let parameters =
      ["--plugin=protoc-gen-campanile=\(generator.path)", "--campanile_out=\(output.path)"]
      + options.parameters(for: names).map { "--campanile_opt=\($0)" }
    return [
      .buildCommand(
        displayName: "Generating Swift from the protos of \(target.name)",
        executable: protoc.program,
        arguments: protoc.includes + parameters + names,
        inputFiles: protos + protoc.imported + options.files + [generator],
        outputFiles: generatedNames(names, options).map { output.appending(path: $0 + ".swift") })
    ]
  }

  /// Returns the names that the generator gives its files, without the ending.
  private func generatedNames(_ protos: [String], _ options: Options) -> [String] {
    protos.map { String($0.dropLast(".proto".count)).replacing("/", with: "_") }
      + [options.descriptorSet].compactMap(\.self)
  }
}

/// An error whose text names the cause and the remedy.
struct GeneratorError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
