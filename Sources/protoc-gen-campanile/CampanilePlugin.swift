import CampanileContract
import Foundation
import SwiftProtobuf
import SwiftProtobufPluginLibrary

/// A protoc plugin that generates ProtoJSON messages, service protocols, clients and method tables from proto3 files.
///
/// Parameters: see `Options`. Every generated Swift file is named after its proto, with `_` in place of `/`. TypeScript
/// modules are named after their packages, Markdown pages after their services and packages.
@main
struct CampanilePlugin: CodeGenerator {
  init() {}

  var supportedFeatures: [Google_Protobuf_Compiler_CodeGeneratorResponse.Feature] { [.proto3Optional] }

  func printHelp() {
    print(
      """
      protoc-gen-campanile: a protoc plugin. Pass it to protoc with --plugin and run it with --campanile_out=DIR.
      Parameters, as --campanile_opt=KEY=VALUE, each repeatable:
        Language=swift|ts|markdown           language of the output (default: swift); markdown writes reference pages
        Runtime=SPECIFIER                    module of the TypeScript runtime (default: ../campanile.js); only for ts
      The other parameters are only for swift:
        Visibility=public|package|internal   access level of generated declarations (default: internal)
        Prefix=PACKAGE:PREFIX                prefix of this proto package's Swift names
        Part=messages|clients|servers        declarations to generate (default: all); clients include the method tables
        Storage=fields|tables                how messages keep their fields (default: fields, which are faster); tables need
                                             less code, and the module CampanileStorage
        MessagesModule=NAME                  module that has the messages and method tables of generated servers
        Module=PACKAGE:MODULE                module of this proto package's messages, which files of other packages import
        DescriptorSet=NAME                   additional file NAME.swift: the FileDescriptorSet of all files, as an enum NAME
        CommentsFrom=PREFIX                  comments in the set for files whose names begin with PREFIX
      """)
  }

  func generate(
    files: [FileDescriptor], parameter: any CodeGeneratorParameter, protoCompilerContext: any ProtoCompilerContext,
    generatorOutputs: any GeneratorOutputs
  ) throws {
    let options = try Options(parameter.parsedPairs)
    for file in files where file.edition != .proto3 { throw file.fault(in: file, "only proto3 is supported") }
    try ConstraintChecker.check(files)
    switch options.language {
    case .swift: try swift(files, options, generatorOutputs)
    case .typeScript:
      try add(TypeScriptGenerator(runtime: options.runtime).generate(files), to: generatorOutputs)
    case .markdown: try add(MarkdownGenerator().generate(files), to: generatorOutputs)
    }
  }

  private func add(_ files: [(name: String, contents: String)], to outputs: any GeneratorOutputs) throws {
    for file in files { try outputs.add(fileName: file.name, contents: file.contents) }
  }

  private func swift(_ files: [FileDescriptor], _ options: Options, _ generatorOutputs: any GeneratorOutputs) throws {
    let names = Names(options)
    try NameChecker(names: names, options: options).check(files)
    for file in files {
      guard let swift = try FileGenerator(file: file, options: options, names: names).generate() else { continue }
      let name = file.name.replacingOccurrences(of: ".proto", with: "").replacingOccurrences(of: "/", with: "_")
      try generatorOutputs.add(fileName: name + ".swift", contents: swift)
    }
    if let name = options.descriptorSet {
      let contents = try DescriptorSetGenerator(name: name, options: options).generate(files)
      try generatorOutputs.add(fileName: name + ".swift", contents: contents)
    }
  }
}
