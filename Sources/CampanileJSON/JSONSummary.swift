/// The facts that a validator has established about a JSON text.
public struct JSONSummary: Sendable, Hashable {
  /// The type of a JSON value.
  public enum Kind: UInt8, Sendable, Hashable {
    case object, array, string, number, bool, null
  }

  /// A name that occurs in its object a second time.
  public struct Duplicate: Sendable, Hashable {
    /// The member as a JSON Pointer (RFC 6901). Names longer than 64 bytes are truncated and end with `…`.
    public var path: String
    /// The start of the second name.
    public var byteOffset: Int64

    public init(path: String, byteOffset: Int64) {
      self.path = path
      self.byteOffset = byteOffset
    }
  }

  public var sizeBytes: Int64
  /// The maximum number of arrays and objects open at once; 0 for a scalar.
  public var depth: Int
  public var topLevelKind: Kind
  /// The first `JSONLimits.duplicatesMax` duplicates in the order of the text; empty unless requested.
  public var duplicates: [Duplicate]
  /// The number of duplicates.
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
