/// A delta between two byte strings: ranges to copy from the base, and bytes to insert. Rebuilds the target exactly.
///
/// Format: `CBD1`, the sizes of base and target, then instructions until the target is complete. Numbers are varints
/// with 7 bits per byte, lowest first. A copy is `length * 2 + 1` and the zigzag-encoded distance from the end of the
/// last copy to its start. An insertion is `length * 2` and the bytes.
///
/// A delta contains no hash: the caller must check that the base and the result are the right ones.
package enum ByteDelta {
  /// Limits for encoding and decoding.
  package struct Limits: Sendable, Hashable {
    /// Maximum size of a delta. A delta that is not much smaller than its target is useless.
    package var deltaBytesMax: Int
    /// Maximum size of a target.
    package var targetBytesMax: Int

    package init(deltaBytesMax: Int = 64_000_000, targetBytesMax: Int = 250_000_000) {
      self.deltaBytesMax = max(deltaBytesMax, 0)
      self.targetBytesMax = max(targetBytesMax, 0)
    }
  }

  static let magic: [UInt8] = Array("CBD1".utf8)

  /// Encodes the delta from `base` to `target`.
  ///
  /// Uses at most 8 MiB of memory in addition to the delta. Time is linear in both sizes. The block size is 16 bytes
  /// for a base of up to 8 MiB, and about 1/524,288 of a larger base.
  ///
  /// - Returns: Nil if the delta or the target would exceed the limits.
  package static func encode(
    from base: UnsafeRawBufferPointer, to target: UnsafeRawBufferPointer, limits: Limits = .init()
  ) -> [UInt8]? {
    guard target.count <= limits.targetBytesMax else { return nil }
    var encoder = DeltaEncoder(base: base, target: target, deltaBytesMax: limits.deltaBytesMax)
    return encoder.encode()
  }

  /// Encodes the delta from `base` to `target`; nil if it would exceed the limits.
  package static func encode(from base: [UInt8], to target: [UInt8], limits: Limits = .init()) -> [UInt8]? {
    base.withUnsafeBytes { base in
      target.withUnsafeBytes { target in encode(from: base, to: target, limits: limits) }
    }
  }

  /// Passes the target to `piece` in order, one piece at a time.
  ///
  /// Discard the pieces passed before an error. A piece is valid only during the call.
  ///
  /// - Throws: `invalidDelta` if the delta is malformed or truncated, `wrongBase` if it is for a base of another size,
  ///   `limitExceeded` if the target exceeds `targetBytesMax`.
  package static func decode(
    _ delta: UnsafeRawBufferPointer, base: UnsafeRawBufferPointer, limits: Limits = .init(),
    piece: (UnsafeRawBufferPointer) -> Void
  ) throws(ByteDeltaError) {
    var decoder = DeltaDecoder(delta)
    try decoder.decode(base: base, targetBytesMax: limits.targetBytesMax, piece: piece)
  }

  /// Decodes the complete target.
  ///
  /// - Throws: The same errors as the form that takes `piece`.
  package static func decode(_ delta: [UInt8], base: [UInt8], limits: Limits = .init()) throws(ByteDeltaError)
    -> [UInt8]
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

/// The reason a delta cannot be applied.
package struct ByteDeltaError: Error, Sendable, Hashable, CustomStringConvertible {
  package struct Code: Sendable, Hashable, CustomStringConvertible {
    package let description: String

    private init(_ description: String) {
      self.description = description
    }

    package static let invalidDelta = Code("DELTA_INVALID")
    package static let wrongBase = Code("DELTA_WRONG_BASE")
    package static let limitExceeded = Code("DELTA_LIMIT_EXCEEDED")
  }

  package var code: Code
  /// The position in the delta.
  package var byteOffset: Int
  package var reason: String

  package init(_ code: Code, byteOffset: Int, reason: String) {
    self.code = code
    self.byteOffset = byteOffset
    self.reason = reason
  }

  package var description: String { "\(code): at byte \(byteOffset): \(reason)" }
}
