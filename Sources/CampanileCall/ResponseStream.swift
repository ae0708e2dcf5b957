public import CampanileBase
public import CampanileCodec

/// The responses of a streaming call, in order. May be read by one task, once.
///
/// Throws `RPCError`. The server may send 32 messages ahead of the reader, and more as they are read. Cancelling the
/// reading task, or releasing the stream and its iterator, cancels the call.
public struct ResponseStream<R: ProtoMessage>: AsyncSequence, Sendable {
  public typealias Element = R
  public typealias Failure = RPCError

  let raw: RawResponseStream
  let interceptor: (@Sendable (R) throws(RPCError) -> R)?

  /// The responses of a call that was started.
  public init(_ call: any StreamTransport) {
    raw = RawResponseStream(call)
    interceptor = nil
  }

  /// The responses of a call, with `interceptor` applied to each.
  init(_ call: any StreamTransport, interceptor: @escaping @Sendable (R) throws(RPCError) -> R) {
    raw = RawResponseStream(call)
    self.interceptor = interceptor
  }

  public func makeAsyncIterator() -> Iterator {
    Iterator(raw: raw.makeAsyncIterator(), interceptor: interceptor)
  }

  public struct Iterator: AsyncIteratorProtocol {
    var raw: RawResponseStream.Iterator
    let interceptor: (@Sendable (R) throws(RPCError) -> R)?

    public mutating func next() async throws(RPCError) -> R? { try await next(isolation: #isolation) }

    public mutating func next(isolation actor: isolated (any Actor)?) async throws(RPCError) -> R? {
      guard let bytes = try await raw.next(isolation: actor) else { return nil }
      do throws(RPCError) {
        let response = try R(responseJSON: bytes)
        guard let interceptor else { return response }
        return try interceptor(response)
      } catch {
        raw.cancel(error)
        throw error
      }
    }
  }
}

/// The responses of a streaming call, each as the JSON received.
public struct RawResponseStream: AsyncSequence, Sendable {
  public typealias Element = [UInt8]
  public typealias Failure = RPCError

  let owner: StreamOwner

  /// The responses of a call that was started.
  public init(_ call: any StreamTransport) { owner = StreamOwner(call) }

  public func makeAsyncIterator() -> Iterator { Iterator(owner: owner) }

  public struct Iterator: AsyncIteratorProtocol {
    let owner: StreamOwner
    private var hasEnded = false

    init(owner: StreamOwner) { self.owner = owner }

    public mutating func next() async throws(RPCError) -> [UInt8]? { try await next(isolation: #isolation) }

    public mutating func next(isolation actor: isolated (any Actor)?) async throws(RPCError) -> [UInt8]? {
      guard !hasEnded else { return nil }
      switch await owner.call.next() {
      case .message(let bytes): return bytes
      case .finished:
        hasEnded = true
        return nil
      case .failed(let error):
        hasEnded = true
        throw error
      }
    }

    mutating func cancel(_ error: RPCError) {
      hasEnded = true
      owner.call.cancel(error)
    }
  }
}

/// Cancels a call once its response stream is released.
final class StreamOwner: Sendable {
  let call: any StreamTransport

  init(_ call: any StreamTransport) { self.call = call }

  deinit { call.cancel(LocalFailure.cancelled()) }
}
