/// A pattern for texts: classes of ASCII characters, each repeated a number of times.
///
/// `protoc-gen-campanile` makes it from a regular expression such as `^[A-Za-z0-9._:-]{1,128}$`. The class after a
/// repetition of variable length has no character in common with it, so a match needs no backtracking.
public struct TextPattern: Sendable {
  /// A class of ASCII characters as a bit set, and how often it is repeated.
  public struct Part: Sendable {
    var low: UInt64
    var high: UInt64
    var min: Int
    var max: Int

    /// - Parameters:
    ///   - low: The bits of the characters 0 to 63.
    ///   - high: The bits of the characters 64 to 127.
    public init(_ low: UInt64, _ high: UInt64, _ min: Int = 1, _ max: Int = 1) {
      (self.low, self.high, self.min, self.max) = (low, high, min, max)
    }

    fileprivate func contains(_ byte: UInt8) -> Bool {
      switch byte {
      case 0..<64: low >> UInt64(byte) & 1 == 1
      case 64..<128: high >> UInt64(byte - 64) & 1 == 1
      default: false
      }
    }
  }

  private let parts: [Part]

  public init(_ parts: Part...) { self.parts = parts }

  /// Whether the whole text matches.
  public func matches(_ text: String) -> Bool {
    var rest = text.utf8[...]
    for part in parts {
      var count = 0
      while count < part.max, let byte = rest.first, part.contains(byte) {
        rest.removeFirst()
        count += 1
      }
      if count < part.min { return false }
    }
    return rest.isEmpty
  }
}
