internal import Foundation

/// Writes the log lines of the suite's processes to standard error, prefixed with the process name.
public struct LogPrinter: Sendable, Hashable {
  public var isColoured: Bool
  /// Maximum length of a line in bytes; longer lines are split.
  public static let lineBytesMax = 64 * 1024

  private let width: Int
  private let names: [String]
  private static let colours: [Terminal.Colour] = [.cyan, .magenta, .green, .yellow, .blue]

  public init(names: [String], isColoured: Bool) {
    self.names = names
    self.isColoured = isColoured
    width = names.map(\.count).max() ?? 0
  }

  /// Formats a line as `name | line`, with a different colour for each name.
  public func line(_ name: String, _ bytes: [UInt8]) -> [UInt8] {
    let padded = name.padding(toLength: max(width, name.count), withPad: " ", startingAt: 0)
    let index = names.firstIndex(of: name) ?? 0
    let prefix = Self.colours[index % Self.colours.count].paint(padded + " |", if: isColoured)
    // Keep escape sequences: the processes colour their lines and escape text from other parties themselves.
    let text = Terminal.printable(String(decoding: bytes, as: UTF8.self), except: ["\t", "\u{1b}"])
    return Array("\(prefix) \(isColoured ? text : Self.withoutColours(text))\n".utf8)
  }

  func print(_ name: String, _ bytes: [UInt8]) { try? Console.write(line(name, bytes), to: STDERR_FILENO) }

  /// Returns `text` without colour sequences (ECMA-48 SGR).
  static func withoutColours(_ text: String) -> String {
    guard text.utf8.contains(0x1b) else { return text }
    return text.replacing(/\u{1b}\[[0-9;]*m/, with: "")
  }
}
