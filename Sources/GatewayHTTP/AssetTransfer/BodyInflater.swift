import CCampanile
import CampanileBase
import CampanileRPC
import NIOCore

/// Decompresses a request's body as it arrives. Detects gzip (RFC 1952) or zlib (RFC 1950) by the first bytes.
///
/// The connection runs it after admission, so that no unauthorized body is decompressed in the pipeline.
final class BodyInflater {
  /// Size of zlib's state: its window and tables.
  static let stateBytes = 48 * 1024
  private static let stepBytes = 16 * 1024

  // zlib keeps a pointer to the stream, so it must not move.
  private let stream: UnsafeMutablePointer<z_stream>
  private let isReady: Bool
  private var isComplete = false

  init() {
    stream = .allocate(capacity: 1)
    stream.initialize(to: z_stream())
    // A 15-bit window; 32 enables header detection.
    isReady = campanile_inflate_init(stream, 47) == Z_OK
  }

  deinit {
    if isReady { inflateEnd(stream) }
    stream.deinitialize(count: 1)
    stream.deallocate()
  }

  /// Decompresses `bytes`.
  ///
  /// - Parameter take: Receives the output in pieces of at most 16 KiB. An error that it throws stops the
  ///   decompression.
  /// - Throws: INVALID_ARGUMENT `BODY_NOT_DECODED` if the data is invalid or continues after its end.
  func inflate(_ bytes: ByteBuffer, _ take: (ByteBuffer) throws(RPCError) -> Void) throws(RPCError) {
    guard isReady else { throw Self.noMemory }
    var input = Array(bytes.readableBytesView)
    var fault: RPCError?
    input.withUnsafeMutableBufferPointer { input in
      stream.pointee.next_in = input.baseAddress
      stream.pointee.avail_in = UInt32(truncatingIfNeeded: input.count)
      do throws(RPCError) { try run(take) } catch { fault = error }
      stream.pointee.next_in = nil
      stream.pointee.avail_in = 0
    }
    if let fault { throw fault }
  }

  private func run(_ take: (ByteBuffer) throws(RPCError) -> Void) throws(RPCError) {
    while true {
      guard !isComplete else {
        guard stream.pointee.avail_in == 0 else { throw Self.notDecoded }
        return
      }
      var output = ByteBufferAllocator().buffer(capacity: Self.stepBytes)
      var status = Z_OK
      output.writeWithUnsafeMutableBytes(minimumWritableBytes: Self.stepBytes) { room in
        stream.pointee.next_out = room.bindMemory(to: UInt8.self).baseAddress
        stream.pointee.avail_out = UInt32(Self.stepBytes)
        status = CCampanile.inflate(stream, Z_NO_FLUSH)
        return Self.stepBytes - Int(stream.pointee.avail_out)
      }
      // `Z_BUF_ERROR` without progress means that zlib needs more input.
      guard status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR else { throw Self.notDecoded }
      isComplete = status == Z_STREAM_END
      if output.readableBytes > 0 { try take(output) } else if !isComplete { return }
    }
  }

  /// Checks that the body is complete. Throws INVALID_ARGUMENT `BODY_NOT_DECODED` if it was cut off.
  func finish() throws(RPCError) { if !isComplete { throw Self.notDecoded } }

  static let notDecoded = RPCError(
    .invalidArgument, "the body does not match its content encoding", reason: "BODY_NOT_DECODED", processed: false)
  private static let noMemory = RPCError(
    .resourceExhausted, "not enough memory to decompress the body", reason: "OUT_OF_MEMORY", processed: false)
}
