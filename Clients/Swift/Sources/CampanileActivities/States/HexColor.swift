/// A colour of a pushed state or a bucket, `#RRGGBB`.
public struct HexColor: Hashable, Sendable {
  /// The parts of the colour, 0 to 1.
  public let red: Double
  public let green: Double
  public let blue: Double

  /// Returns `nil` unless the text is `#` and six hexadecimal digits.
  public init?(_ text: String) {
    let digits = text.dropFirst()
    guard text.first == "#", digits.utf8.count == 6, let value = UInt32(digits, radix: 16), digits.first != "+" else {
      return nil
    }
    red = Double(value >> 16) / 255
    green = Double(value >> 8 & 0xFF) / 255
    blue = Double(value & 0xFF) / 255
  }
}

#if canImport(SwiftUI)
  public import SwiftUI

  extension Color {
    /// Creates a colour; `nil` if the text is not `#RRGGBB`.
    public init?(hex: String) {
      guard let color = HexColor(hex) else { return nil }
      self.init(red: color.red, green: color.green, blue: color.blue)
    }
  }
#endif
