import NIOCore

/// Cuts a stream of bytes into frames, copying only what is left over at the end of a read.
struct FrameDecoder {
  enum Fault: Error, Equatable {
    /// A length of zero.
    case empty
    /// A length beyond the limit. Nothing of the frame was buffered.
    case tooLarge(UInt32)
  }

  let frameBytesMax: Int
  private var rest = ByteBuffer()

  init(frameBytesMax: Int) { self.frameBytesMax = frameBytesMax }

  /// Whether bytes are left over: a frame has begun and is not complete, or `feed` was told to stop.
  var isInsideFrame: Bool { rest.readableBytes > 0 }

  /// Keeps bytes for a later `feed`.
  mutating func keep(_ bytes: ByteBuffer) { rest.writeImmutableBuffer(bytes) }

  /// Calls `body` with the bytes of each complete frame until it answers false; what is behind that frame is kept.
  ///
  /// The bytes are valid during the call only. After a fault the stream has no frame boundary any more.
  mutating func feed(_ bytes: ByteBuffer, _ body: (UnsafeRawBufferPointer) -> Bool) throws(Fault) {
    if rest.readableBytes == 0 {
      var bytes = bytes
      try Self.cut(&bytes, frameBytesMax, body)
      if bytes.readableBytes > 0 { rest = ByteBuffer(bytes: bytes.readableBytesView) }
      return
    }
    var bytes = bytes
    rest.writeBuffer(&bytes)
    // Taken out, so that `body` may feed no second decoder state and the storage stays unique.
    var whole = rest
    rest = ByteBuffer()
    try Self.cut(&whole, frameBytesMax, body)
    guard whole.readableBytes > 0 else { return }
    if whole.readerIndex > 0 { whole.discardReadBytes() }
    rest = whole
  }

  private static func cut(
    _ buffer: inout ByteBuffer, _ frameBytesMax: Int, _ body: (UnsafeRawBufferPointer) -> Bool
  ) throws(Fault) {
    var fault: Fault?
    let consumed = buffer.withUnsafeReadableBytes { bytes -> Int in
      var index = 0
      while bytes.count - index >= 4 {
        let length = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt32.self))
        guard length > 0 else {
          fault = .empty
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
    if let fault { throw fault }
    buffer.moveReaderIndex(forwardBy: consumed)
  }
}
