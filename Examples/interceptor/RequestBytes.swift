import CampanileRPC
import Synchronization

/// Counts the bytes of requests by method, before they are decoded.
final class RequestBytes: Sendable {
  private let methods: Set<String>
  private let bytesByMethod = Mutex<[String: Int]>([:])

  /// - Parameter methods: The methods to count. Peers may name any others, which are counted together.
  init(of methods: [MethodDescriptor]) { self.methods = Set(methods.map(\.path)) }

  /// The number of bytes by the path of the method.
  var totals: [String: Int] { bytesByMethod.withLock { $0 } }

  /// Returns a dispatcher that counts the requests and passes them on.
  func counting(_ next: any CallDispatcher) -> any CallDispatcher { Dispatcher(counts: self, next: next) }

  private func add(_ sizeBytes: Int, _ method: String) {
    bytesByMethod.withLock { $0[methods.contains(method) ? method : "other methods", default: 0] += sizeBytes }
  }

  private struct Dispatcher: CallDispatcher {
    let counts: RequestBytes
    let next: any CallDispatcher

    func startCall(_ call: ServerCall, method: UnsafeRawBufferPointer, params: UnsafeRawBufferPointer) {
      counts.add(params.count, String(decoding: method, as: UTF8.self))
      next.startCall(call, method: method, params: params)
    }

    func refuses(_ call: ServerCall, method: UnsafeRawBufferPointer) -> Bool {
      next.refuses(call, method: method)
    }
  }
}
