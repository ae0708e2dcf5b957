import Foundation
import PackagePlugin

/// Generates messages, service protocols and clients from the protos in a target's folder, with `protoc`.
///
/// `campanile-generator.json` in the folder contains options; see `Options`. `GenerateCampanile` does the same for code
/// that is committed.
@main
struct CampanileGenerator: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
    guard let target = target as? any SourceModuleTarget else {
      throw GeneratorError("\(target.name) has no source files, so it cannot use CampanileGenerator")
    }
    let protos = target.sourceFiles(withSuffix: ".proto").map(\.url)
    guard let generation = try Generation(folder: target.directoryURL, protos: protos) else { return [] }
    let generator = try context.tool(named: "protoc-gen-campanile").url
    let output = context.pluginWorkDirectoryURL
    return [
      .buildCommand(
        displayName: "Generating Swift from the protos of \(target.name)",
        executable: generation.program,
        arguments: generation.arguments(generator: generator, output: output),
        inputFiles: generation.inputs + [generator],
        outputFiles: generation.outputs.map { output.appending(path: $0) })
    ]
  }
}
