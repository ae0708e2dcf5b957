/// Limits for a JSON text, and the options that RFC 8259 leaves to the receiver.
public struct JSONLimits: Sendable, Hashable {
  /// The handling of duplicate names in an object (RFC 8259, section 4, leaves it to the receiver).
  public enum DuplicateNames: UInt8, Sendable, Hashable {
    /// Duplicates are not detected. Costs nothing.
    case keep = 0
    /// Duplicates are listed in `JSONSummary.duplicates`. Names are compared after unescaping (section 8.3).
    case report = 1
  }

  /// The handling of `\u` escapes that encode half of a surrogate pair.
  ///
  /// The grammar allows them, but section 8.2 calls the behaviour of receivers unpredictable: the parsers of Swift,
  /// Python and JavaScript disagree.
  public enum LoneSurrogates: UInt8, Sendable, Hashable {
    /// They are valid, as in the grammar.
    case accept = 0
    /// They are an error.
    case reject = 1
  }

  /// The maximum of `depthMax`. Recursive functions of this module stay within a thread's stack at this depth.
  public static let depthCeiling = 1024

  /// Maximum number of arrays and objects open at once; 0...`depthCeiling`.
  public var depthMax: Int
  /// Maximum size of a text.
  public var sizeBytesMax: Int64
  public var duplicateNames: DuplicateNames
  public var loneSurrogates: LoneSurrogates
  /// Maximum number of names in all open objects together when duplicates are reported; each costs about 16 bytes.
  public var namesMax: Int
  /// Maximum number of duplicates that a summary lists; further ones are only counted.
  public var duplicatesMax: Int

  public init(
    depthMax: Int = 512, sizeBytesMax: Int64 = 250_000_000, duplicateNames: DuplicateNames = .keep,
    loneSurrogates: LoneSurrogates = .accept, namesMax: Int = 100_000, duplicatesMax: Int = 16
  ) {
    self.depthMax = min(max(depthMax, 0), Self.depthCeiling)
    self.sizeBytesMax = max(sizeBytesMax, 0)
    self.duplicateNames = duplicateNames
    self.loneSurrogates = loneSurrogates
    self.namesMax = max(namesMax, 0)
    self.duplicatesMax = max(duplicatesMax, 0)
  }
}
