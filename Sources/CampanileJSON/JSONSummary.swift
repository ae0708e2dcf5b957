/// What a validator has learned about a JSON text.
public struct JSONSummary: Sendable, Hashable {
  /// The type of a JSON value.
  public enum Kind: UInt8, Sendable, Hashable {
    case object, array, string, number, bool, null
  }

  /// A name that its object has already.
  public struct Duplicate: Sendable, Hashable {
    /// The member as a JSON Pointer (RFC 6901). Names longer than 64 bytes are cut and end with `…`.
    public var path: String
    /// Where the second name starts.
    public var byteOffset: Int64

    public init(path: String, byteOffset: Int64) {
      self.path = path
      self.byteOffset = byteOffset
    }
  }

  public var sizeBytes: Int64
  /// How many arrays and objects were open at once at most; 0 for a scalar.
  public var depth: Int
  public var topLevelKind: Kind
  /// The first `JSONLimits.duplicatesMax` duplicates in the order of the text; empty unless they were asked for.
  public var duplicates: [Duplicate]
  /// How many duplicates there are.
  public var duplicateCount: Int

  public init(
    sizeBytes: Int64, depth: Int, topLevelKind: Kind, duplicates: [Duplicate] = [], duplicateCount: Int = 0
  ) {
    self.sizeBytes = sizeBytes
    self.depth = depth
    self.topLevelKind = topLevelKind
    self.duplicates = duplicates
    self.duplicateCount = duplicateCount
  }
}
