import Foundation
import PackagePlugin

/// Generates code as `CampanileGenerator` does, into the folder `Generated` of each target, to be committed.
///
///     swift package --allow-writing-to-package-directory generate-campanile --target NAME… [--check]
///
/// Files in `Generated` that are no longer generated are removed. With `--check`, nothing is written, and a difference
/// is an error.
@main
struct GenerateCampanile: CommandPlugin {
  private static let folderName = "Generated"

  func performCommand(context: PluginContext, arguments: [String]) async throws {
    var extractor = ArgumentExtractor(arguments)
    let names = extractor.extractOption(named: "target")
    let isCheck = extractor.extractFlag(named: "check") > 0
    if let rest = extractor.remainingArguments.first { throw GeneratorError("unknown argument \(rest)") }
    guard !names.isEmpty else { throw GeneratorError("give --target NAME for each target with protos") }
    let generator = try context.tool(named: "protoc-gen-campanile").url
    for target in try context.package.targets(named: names) {
      let root = target.directoryURL
      guard let generation = try Generation(folder: root, protos: protos(in: root)) else { continue }
      let fresh = context.pluginWorkDirectoryURL.appending(path: target.name)
      try? FileManager.default.removeItem(at: fresh)
      try FileManager.default.createDirectory(at: fresh, withIntermediateDirectories: true)
      try run(generation.program, generation.arguments(generator: generator, output: fresh))
      try compare(generation.outputs, in: fresh, with: root.appending(path: Self.folderName), isCheck: isCheck)
    }
  }

  private func protos(in folder: URL) -> [URL] {
    let names = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
    return names.filter { $0.hasSuffix(".proto") }.map { folder.appending(path: $0) }
  }

  private func run(_ program: URL, _ arguments: [String]) throws {
    let process = Process()
    process.executableURL = program
    process.arguments = arguments
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw GeneratorError("protoc failed; see its message above") }
  }

  /// Writes the files that differ, or reports them. Equal files keep their times, to keep builds short.
  private func compare(_ names: [String], in fresh: URL, with folder: URL, isCheck: Bool) throws {
    let files = FileManager.default
    let former = ((try? files.contentsOfDirectory(atPath: folder.path)) ?? []).filter { $0.hasSuffix(".swift") }
    for name in Set(names + former).sorted() {
      let (source, target) = (fresh.appending(path: name), folder.appending(path: name))
      let content = files.contents(atPath: source.path)
      guard content != files.contents(atPath: target.path) else { continue }
      if isCheck {
        Diagnostics.error("\(target.path) is not what its protos generate; run generate-campanile without --check")
      } else if let content {
        try files.createDirectory(at: folder, withIntermediateDirectories: true)
        try content.write(to: target)
        print("wrote \(target.path)")
      } else {
        try files.removeItem(at: target)
        print("removed \(target.path)")
      }
    }
  }
}
