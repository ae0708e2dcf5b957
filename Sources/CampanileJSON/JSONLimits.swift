/// What a JSON text may cost, and which freedoms of RFC 8259 it may take.
public struct JSONLimits: Sendable, Hashable {
  /// What is done about names that an object has twice (RFC 8259, section 4, leaves it to the receiver).
  public enum DuplicateNames: UInt8, Sendable, Hashable {
    /// They are not looked for. Costs nothing.
    case keep = 0
    /// They are told in `JSONSummary.duplicates`. Names are compared after their escapes are read (section 8.3).
    case report = 1
  }

  /// What is done about `\u` escapes that name half of a surrogate pair.
  ///
  /// The grammar allows them and section 8.2 calls what receivers make of them unpredictable: Swift's, Python's and
  /// JavaScript's own parsers disagree.
  public enum LoneSurrogates: UInt8, Sendable, Hashable {
    /// They are valid, as the grammar says.
    case accept = 0
    /// They are an error.
    case reject = 1
  }

  /// The greatest `depthMax`: what is recursive here stays within a thread's stack.
  public static let depthCeiling = 1024

  /// How many arrays and objects may be open at once; 0...`depthCeiling`.
  public var depthMax: Int
  /// How long a text may be.
  public var sizeBytesMax: Int64
  public var duplicateNames: DuplicateNames
  public var loneSurrogates: LoneSurrogates
  /// How many names all open objects may have together when duplicates are reported; each costs about 16 bytes.
  public var namesMax: Int
  /// How many duplicates a summary lists; the others are counted only.
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
