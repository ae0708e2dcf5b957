/// What turns one byte string into another: ranges to copy from the first, and bytes to insert. Rebuilds the exact bytes.
///
/// Form: `CBD1`, the sizes of base and target, then instructions until the target is whole. Numbers are varints of 7 bits
/// a byte, the lowest first. An instruction is `length * 2 + 1` and how far its start is from the end of the last copy
/// (zigzag) to copy, or `length * 2` and the bytes to insert.
///
/// A delta carries no hash: that base and result are the right ones is for the caller to check.
public enum ByteDelta {
  /// What encoding and decoding may cost.
  public struct Limits: Sendable, Hashable {
    /// How big a delta may be. One that is not much smaller than its target is of no use.
    public var deltaBytesMax: Int
    /// How big a target may be.
    public var targetBytesMax: Int

    public init(deltaBytesMax: Int = 64_000_000, targetBytesMax: Int = 250_000_000) {
      self.deltaBytesMax = max(deltaBytesMax, 0)
      self.targetBytesMax = max(targetBytesMax, 0)
    }
  }

  static let magic: [UInt8] = Array("CBD1".utf8)

  /// The delta from `base` to `target`; nil if it would exceed the limits.
  ///
  /// Memory: 8 MiB at most besides the delta. Time is linear in both sizes. The finest grain is 16 bytes for a base of up
  /// to 8 MiB, and 1/524,288 of the base beyond.
  public static func encode(
    from base: UnsafeRawBufferPointer, to target: UnsafeRawBufferPointer, limits: Limits = .init()
  ) -> [UInt8]? {
    guard target.count <= limits.targetBytesMax else { return nil }
    var encoder = DeltaEncoder(base: base, target: target, deltaBytesMax: limits.deltaBytesMax)
    return encoder.encode()
  }

  /// The delta from `base` to `target`; nil if it would exceed the limits.
  public static func encode(from base: [UInt8], to target: [UInt8], limits: Limits = .init()) -> [UInt8]? {
    base.withUnsafeBytes { base in
      target.withUnsafeBytes { target in encode(from: base, to: target, limits: limits) }
    }
  }

  /// Hands over the target piece by piece, from its start to its end.
  ///
  /// Pieces handed over before an error are part of no result. They are valid for the call only.
  ///
  /// - Throws: `invalidDelta` if the delta is malformed or cut, `wrongBase` if it is not for a base of this size,
  ///   `limitExceeded` for a target beyond `targetBytesMax`.
  public static func decode(
    _ delta: UnsafeRawBufferPointer, base: UnsafeRawBufferPointer, limits: Limits = .init(),
    piece: (UnsafeRawBufferPointer) -> Void
  ) throws(ByteDeltaError) {
    var decoder = DeltaDecoder(delta)
    try decoder.decode(base: base, targetBytesMax: limits.targetBytesMax, piece: piece)
  }

  /// The target.
  ///
  /// - Throws: as the other form.
  public static func decode(_ delta: [UInt8], base: [UInt8], limits: Limits = .init()) throws(ByteDeltaError) -> [UInt8]
  {
    var target: [UInt8] = []
    let result: Result<Void, ByteDeltaError> = delta.withUnsafeBytes { delta in
      base.withUnsafeBytes { base in
        Result { () throws(ByteDeltaError) in
          try decode(delta, base: base, limits: limits) { target.append(contentsOf: $0) }
        }
      }
    }
    try result.get()
    return target
  }
}

/// Why a delta rebuilds nothing.
public struct ByteDeltaError: Error, Sendable, Hashable, CustomStringConvertible {
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    public let description: String

    private init(_ description: String) {
      self.description = description
    }

    public static let invalidDelta = Code("DELTA_INVALID")
    public static let wrongBase = Code("DELTA_WRONG_BASE")
    public static let limitExceeded = Code("DELTA_LIMIT_EXCEEDED")
  }

  public var code: Code
  /// Where in the delta.
  public var byteOffset: Int
  public var reason: String

  public init(_ code: Code, byteOffset: Int, reason: String) {
    self.code = code
    self.byteOffset = byteOffset
    self.reason = reason
  }

  public var description: String { "\(code): at byte \(byteOffset): \(reason)" }
}
