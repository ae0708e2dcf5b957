/// What is fed with inputs. It returns, or traps when something does not hold.
struct FuzzTarget: Sendable {
  let name: String
  /// Judges one input.
  let run: @Sendable ([UInt8]) -> Void

  init(_ name: String, _ run: @escaping @Sendable ([UInt8]) -> Void) {
    self.name = name
    self.run = run
  }
}

/// Ends the process with what does not hold, for libFuzzer to keep the input.
func require(_ holds: Bool, _ what: @autoclosure () -> String) {
  guard !holds else { return }
  fatalError("does not hold: \(what())")
}

/// A text in a message of `require`, which must show what looks alike.
func shown(_ bytes: some Sequence<UInt8>) -> String {
  bytes.prefix(2_000).map { (0x20...0x7E).contains($0) ? String(UnicodeScalar($0)) : "\\x" + String($0, radix: 16) }
    .joined()
}
