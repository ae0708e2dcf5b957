import CampanileRPC
import Synchronization

/// Adds up the bytes of the requests to each method: an interceptor of raw calls, which are not decoded yet.
///
/// It is also called for requests that are malformed or name an unknown method.
final class RequestBytes: CallDispatcher {
  private let next: any CallDispatcher
  private let sizesBytes = Mutex<[String: Int]>([:])

  init(_ next: any CallDispatcher) { self.next = next }

  /// The number of bytes by the name of the method.
  var totals: [String: Int] { sizesBytes.withLock { $0 } }

  func startCall(_ call: ServerCall, method: UnsafeRawBufferPointer, params: UnsafeRawBufferPointer) {
    sizesBytes.withLock { $0[String(decoding: method, as: UTF8.self), default: 0] += params.count }
    next.startCall(call, method: method, params: params)
  }

  func refuses(_ call: ServerCall, method: UnsafeRawBufferPointer) -> Bool { next.refuses(call, method: method) }
}
