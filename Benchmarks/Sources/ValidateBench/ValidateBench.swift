import ArgumentParser
internal import CampanileJSON
import Foundation

/// Measures one method of checking a JSON file on this thread. Prints the gigabytes per second of each run, one per
/// line.
///
/// The file is in memory before the measurement starts. Campanile's methods read it in chunks of 64 KiB, as it would
/// arrive from a socket. JSONSerialization needs the complete text.
@main
struct ValidateBench: ParsableCommand {
  enum Way: String, CaseIterable, ExpressibleByArgument {
    case validator, duplicates, container, jsonSerialization
  }

  @Argument(help: "Method: \(Way.allCases.map(\.rawValue).joined(separator: ", ")).")
  var way: Way

  @Argument(help: "JSON file.")
  var file: String

  @Option(help: "Number of runs.")
  var runs = 5

  @Option(help: "Bytes per chunk.")
  var chunkBytes = 65_536

  func run() throws {
    let data = try Data(contentsOf: URL(filePath: file))
    for _ in 0..<runs {
      let started = ContinuousClock.now
      switch way {
      case .validator: try data.withUnsafeBytes { try validate($0, .init()) }
      case .duplicates: try data.withUnsafeBytes { try validate($0, .init(duplicateNames: .report)) }
      case .container: try data.withUnsafeBytes(check)
      case .jsonSerialization: _ = try JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed)
      }
      print(Double(data.count) / ((ContinuousClock.now - started) / .seconds(1)) / 1e9)
    }
  }

  private func validate(_ bytes: UnsafeRawBufferPointer, _ limits: JSONLimits) throws {
    var validator = JSONValidator(limits: limits)
    for start in stride(from: 0, to: bytes.count, by: chunkBytes) {
      try validator.update(.init(rebasing: bytes[start..<min(bytes.count, start + chunkBytes)]))
    }
    _ = try validator.finish()
  }

  private func check(_ bytes: UnsafeRawBufferPointer) throws {
    var check = ContainerCheck(.notifications)
    for start in stride(from: 0, to: bytes.count, by: chunkBytes) {
      try check.update(.init(rebasing: bytes[start..<min(bytes.count, start + chunkBytes)]))
    }
    _ = try check.finish()
  }
}
