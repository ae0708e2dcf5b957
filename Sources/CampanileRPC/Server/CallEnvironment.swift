public import CampanileBase
public import CampanileCodec
import Logging
import NIOCore

/// The dependencies of typed handlers: the loop's executor and the logger.
struct CallEnvironment: Sendable {
  let executor: LoopExecutor
  let logger: Logger

  /// Decodes the request, or fails the call with the decoding error.
  @inline(__always)
  func decode<Q: ProtoMessage>(_ type: Q.Type, _ params: UnsafeRawBufferPointer, of call: ServerCall) -> Q? {
    if params.isEmpty { return Q() }
    do throws(RPCError) {
      let request: Q = try Self.decodeMessage(params)
      call.observation?.decoded(call, paramsBytes: params.count)
      return request
    } catch {
      var error = error
      error.processed = false
      error.protocolFailure = .invalidParams
      call.fail(error)
      call.handlerEnded()
      return nil
    }
  }

  static func decodeMessage<Q: ProtoMessage>(_ bytes: UnsafeRawBufferPointer) throws(RPCError) -> Q {
    do throws(ProtoJSONError) { return try Q(jsonUTF8: bytes) } catch { throw RPCError(error) }
  }

  /// Fails the call unless its params are empty, because a call whose requests are a stream has none.
  func checkNoParams(_ params: UnsafeRawBufferPointer, of call: ServerCall) -> Bool {
    if params.isEmpty { return true }
    if var members = JSONObjectReader(params, 0..<params.count), members.next() == nil { return true }
    var error = RPCError.invalidField(
      "params", "a call that streams its requests must not have params", reason: "PARAMS_UNEXPECTED")
    error.processed = false
    error.protocolFailure = .invalidParams
    call.fail(error)
    call.handlerEnded()
    return false
  }

  func context(of call: ServerCall, method: MethodReference) -> CallContext {
    CallContext(
      reference: method, metadata: call.metadata, principal: call.principal, deadline: call.deadline,
      remoteAddress: call.remoteAddress)
  }

  // Most continuations of a handler are already on its loop; one that another library resumed elsewhere hops.

  /// Completes the call with the handler's response.
  @inline(__always)
  func end(_ call: ServerCall, with response: some ProtoMessage) {
    guard call.eventLoop.inEventLoop else { return call.eventLoop.execute { end(call, with: response) } }
    call.succeed(response)
    call.handlerEnded()
  }

  /// Completes a server-streaming call whose handler has returned.
  func end(_ call: ServerCall) {
    guard call.eventLoop.inEventLoop else { return call.eventLoop.execute { end(call) } }
    call.succeed(UnsafeRawBufferPointer(start: nil, count: 0))
    call.handlerEnded()
  }

  /// Fails the call with the handler's error.
  func end(_ call: ServerCall, _ error: any Error) {
    guard call.eventLoop.inEventLoop else { return call.eventLoop.execute { end(call, error) } }
    call.fail(answer(to: error, call))
    call.handlerEnded()
  }

  private func answer(to error: any Error, _ call: ServerCall) -> RPCError {
    if let error = RPCError(handlerError: error) { return error }
    var metadata = call.record.logMetadata
    metadata["error"] = "\(error)"
    logger.error("a handler failed", metadata: metadata)
    return RPCError(.internalError, "internal error; see the server's log", reason: "INTERNAL")
  }
}

/// Cancels the suspended task of a unary call.
final class UnaryHandler: ServerCallHandler {
  private let task: Task<Void, any Error>
  private unowned let call: ServerCall

  init(_ call: ServerCall, _ task: Task<Void, any Error>) {
    self.call = call
    self.task = task
  }

  func receive(message: UnsafeRawBufferPointer, sizeBytes: Int) {
    call.end(
      RPCError(.invalidArgument, "the method takes one request, which are its params", reason: "STREAM_UNEXPECTED"))
  }
  func halfClosed() {}
  func cancelled(_ error: RPCError) { task.cancel() }
  func canSend() {}
}

extension RPCError {
  /// Creates the error that a caller receives for the error of a handler; nil for an error without a form on the wire,
  /// for which callers receive INTERNAL.
  public init?(handlerError error: any Error) {
    switch error {
    case let error as RPCError: self = error
    case is CancellationError: self.init(.cancelled, "the call was cancelled", reason: "CANCELLED")
    case let error as any RPCErrorConvertible: self = error.rpcError
    default: return nil
    }
  }

  /// Creates the error for a message that could not be decoded.
  public init(_ error: ProtoJSONError) {
    self.init(
      .invalidArgument, error.message, reason: error.reason, errorMetadata: ["byteOffset": String(error.byteOffset)],
      fieldViolations: [FieldViolation(field: error.fieldPath, description: error.detail, reason: error.reason)])
  }
}
