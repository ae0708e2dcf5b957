import NIOCore

/// Splits a stream of bytes into frames, copying only the bytes that remain after a read.
struct FrameDecoder {
  enum Fault: Error, Equatable {
    /// A length of zero.
    case empty
    /// A head whose first byte has flags, of which none are defined.
    case flags(UInt8)
    /// A length above the limit. The received part of the frame is retained for a `feed` with a higher limit.
    case tooLarge(UInt32)
  }

  var frameBytesMax: Int
  private var rest = ByteBuffer()
  /// Bytes of a dropped frame that have not arrived yet. No bytes are buffered until then.
  private var droppedBytes = 0

  init(frameBytesMax: Int) { self.frameBytesMax = frameBytesMax }

  /// Whether bytes are buffered or a dropped frame is incomplete: a frame is unfinished, or the body of `feed` stopped
  /// it.
  var isInsideFrame: Bool { rest.readableBytes > 0 || droppedBytes > 0 }

  /// The number of buffered bytes.
  var heldBytes: Int { rest.readableBytes }
  /// The memory allocated for the buffered bytes.
  var storageBytes: Int { rest.storageCapacity }

  /// Calls `body` with the buffered bytes.
  func withHeldBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    rest.withUnsafeReadableBytes(body)
  }

  /// Buffers bytes for a later `feed`.
  mutating func keep(_ bytes: ByteBuffer) {
    var bytes = bytes
    if droppedBytes > 0 { drop(&bytes) }
    rest.writeBuffer(&bytes)
  }

  /// Drops the unfinished frame, including its bytes that are still to arrive.
  mutating func dropFrame() {
    guard let length: UInt32 = rest.getInteger(at: rest.readerIndex) else { return }
    let sizeBytes = 4 + Int(length)
    let count = min(sizeBytes, rest.readableBytes)
    rest.moveReaderIndex(forwardBy: count)
    droppedBytes = sizeBytes - count
    // Releases the storage that the frame occupied.
    rest = rest.readableBytes > 0 ? ByteBuffer(bytes: rest.readableBytesView) : ByteBuffer()
  }

  /// Returns whether a dropped frame ends within these bytes.
  @inline(__always)
  func endsDropping(with bytes: ByteBuffer) -> Bool { droppedBytes > 0 && droppedBytes <= bytes.readableBytes }

  private mutating func drop(_ bytes: inout ByteBuffer) {
    let count = min(droppedBytes, bytes.readableBytes)
    bytes.moveReaderIndex(forwardBy: count)
    droppedBytes -= count
  }

  /// Calls `body` with the bytes of each complete frame until it returns false; the bytes after that frame are
  /// retained.
  ///
  /// The bytes are valid during the call only. After a fault the frame boundary is lost, unless the limit is raised.
  mutating func feed(_ bytes: ByteBuffer, _ body: (UnsafeRawBufferPointer) -> Bool) throws(Fault) {
    var bytes = bytes
    if droppedBytes > 0 { drop(&bytes) }
    if rest.readableBytes == 0 {
      let fault = Self.cut(&bytes, frameBytesMax, body)
      if bytes.readableBytes > 0 { rest = ByteBuffer(bytes: bytes.readableBytesView) }
      if let fault { throw fault }
      return
    }
    rest.writeBuffer(&bytes)
    // The local copy keeps the storage unique, and isolates it from changes made by `body`.
    var whole = rest
    rest = ByteBuffer()
    let fault = Self.cut(&whole, frameBytesMax, body)
    if whole.readableBytes > 0 {
      if whole.readerIndex > 0 { whole.discardReadBytes() }
      rest = whole
    }
    if let fault { throw fault }
  }

  private static func cut(
    _ buffer: inout ByteBuffer, _ frameBytesMax: Int, _ body: (UnsafeRawBufferPointer) -> Bool
  ) -> Fault? {
    var fault: Fault?
    let consumed = buffer.withUnsafeReadableBytes { bytes -> Int in
      var index = 0
      while bytes.count - index >= 4 {
        let length = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt32.self))
        guard length > 0 else {
          fault = .empty
          return index
        }
        guard length <= WireLimits.frameBytesCeiling else {
          fault = .flags(UInt8(length >> 24))
          return index
        }
        guard length <= frameBytesMax else {
          fault = .tooLarge(length)
          return index
        }
        let end = index + 4 + Int(length)
        guard end <= bytes.count else { break }
        let goesOn = body(UnsafeRawBufferPointer(rebasing: bytes[index + 4..<end]))
        index = end
        guard goesOn else { return index }
      }
      return index
    }
    buffer.moveReaderIndex(forwardBy: consumed)
    return fault
  }
}
