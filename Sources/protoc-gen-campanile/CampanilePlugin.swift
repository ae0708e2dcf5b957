import Foundation
import SwiftProtobuf
import SwiftProtobufPluginLibrary

/// Turns proto3 files into messages that read and write ProtoJSON, service protocols, clients and method tables.
///
/// Parameters: see `Options`. Every generated file is named after its proto, with `/` turned into `_`.
@main
struct CampanilePlugin: CodeGenerator {
  init() {}

  var supportedFeatures: [Google_Protobuf_Compiler_CodeGeneratorResponse.Feature] { [.proto3Optional] }

  func printHelp() {
    print(
      """
      protoc-gen-campanile: a protoc plugin. Give it to protoc by --plugin and call it by --campanile_out=DIR.
      Parameters, by --campanile_opt=KEY=VALUE, each as often as wanted:
        Visibility=public|package|internal   the access of what is generated (internal)
        Prefix=PACKAGE:PREFIX                the Swift names of this proto package begin with PREFIX
        DescriptorSet=NAME                   also writes NAME.swift: the FileDescriptorSet of all files, as an enum NAME
        CommentsFrom=PREFIX                  the set keeps the comments of files whose names begin with PREFIX
      """)
  }

  func generate(
    files: [FileDescriptor], parameter: any CodeGeneratorParameter, protoCompilerContext: any ProtoCompilerContext,
    generatorOutputs: any GeneratorOutputs
  ) throws {
    let options = try Options(parameter.parsedPairs)
    let names = Names(options)
    for file in files {
      guard file.edition == .proto3 else { throw GeneratorError("\(file.name) is not proto3") }
      let swift = try FileGenerator(file: file, options: options, names: names).generate()
      let name = file.name.replacingOccurrences(of: ".proto", with: "").replacingOccurrences(of: "/", with: "_")
      try generatorOutputs.add(fileName: name + ".swift", contents: swift)
    }
    if let name = options.descriptorSet {
      let contents = try DescriptorSetGenerator(name: name, options: options).generate(files)
      try generatorOutputs.add(fileName: name + ".swift", contents: contents)
    }
  }
}

/// What protoc prints when a contract or a parameter cannot be used.
struct GeneratorError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
