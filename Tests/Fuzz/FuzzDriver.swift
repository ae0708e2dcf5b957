import Foundation

/// Selects the target named by `CAMPANILE_FUZZ_TARGET`. All targets are in one program, because linking each one takes
/// long.
enum FuzzDriver {
  static let all = [
    calendarTarget, codecTarget, csvTarget, dialectTarget, envelopeTarget, frameTarget, httpTarget, jsonTarget,
    pageTokenTarget, patchTarget, tokenTarget, transcodeTarget, Planted.lengthBeforeCheck, Planted.trapOnValue,
  ]

  static let target: FuzzTarget = {
    let name = ProcessInfo.processInfo.environment["CAMPANILE_FUZZ_TARGET"] ?? ""
    guard let target = all.first(where: { $0.name == name }) else {
      // Without a name, lists the targets.
      for target in all { print(target.name) }
      exit(name.isEmpty ? 0 : 64)
    }
    return target
  }()
}

@_cdecl("LLVMFuzzerInitialize")
public func initialize(_ count: UnsafeMutableRawPointer, _ arguments: UnsafeMutableRawPointer) -> Int32 {
  _ = FuzzDriver.target
  return 0
}

@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
  FuzzDriver.target.run(Array(UnsafeBufferPointer(start: start, count: count)))
  return 0
}

private typealias Arguments = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>

@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
  _ count: UnsafeMutablePointer<Int32>, _ arguments: UnsafeMutablePointer<Arguments>,
  _ body: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
) -> Int32

/// The entry point: SwiftPM makes the linker use this function as `main`, instead of libFuzzer's.
@_cdecl("fuzz_main")
public func start(_ count: Int32, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Int32 {
  var (count, arguments) = (count, arguments)
  return runDriver(&count, &arguments, testOneInput)
}
