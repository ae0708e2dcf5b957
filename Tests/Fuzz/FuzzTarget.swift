/// A fuzz target: returns, or traps if an invariant does not hold for the input.
struct FuzzTarget: Sendable {
  let name: String
  /// Runs the target with one input.
  let run: @Sendable ([UInt8]) -> Void

  init(_ name: String, _ run: @escaping @Sendable ([UInt8]) -> Void) {
    self.name = name
    self.run = run
  }
}

/// Ends the process with a message if an invariant does not hold, so that libFuzzer stores the input.
func require(_ holds: Bool, _ what: @autoclosure () -> String) {
  guard !holds else { return }
  fatalError("invariant violated: \(what())")
}

/// Returns printable text for a message of `require`, with non-ASCII and control bytes escaped, because texts may
/// differ invisibly.
func shown(_ bytes: some Sequence<UInt8>) -> String {
  bytes.prefix(2_000).map { (0x20...0x7E).contains($0) ? String(UnicodeScalar($0)) : "\\x" + String($0, radix: 16) }
    .joined()
}
