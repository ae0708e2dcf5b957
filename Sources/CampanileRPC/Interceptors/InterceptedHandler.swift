/// The call of a handler behind a server's interceptors, without the type of what the handler receives.
///
/// A class, because a call then allocates nothing else for its interceptors. A closure would be one more function that
/// waits, and a block of a task's memory holds few of them.
class InterceptedHandler<Response: Sendable>: @unchecked Sendable {
  // `@unchecked`: subclasses have constants of `Sendable` types only.
  let interceptors: [any ServerInterceptor]

  init(_ interceptors: [any ServerInterceptor]) { self.interceptors = interceptors }

  /// Passes the messages through the interceptors, and runs the handler.
  func run(_ context: CallContext) async throws -> Response { throw CancellationError() }
}

/// A method whose calls pass interceptors; at least one.
final class InterceptedMethod<Input: Sendable, Response: Sendable>: Sendable {
  typealias Handler = @Sendable (Input, CallContext) async throws -> Response

  /// The first of `interceptors`: with an element of an array, the frame of `begin` would be larger.
  private let first: any ServerInterceptor
  private let interceptors: [any ServerInterceptor]
  private let prepare: @Sendable (Input, CallContext) throws -> Input
  private let handler: Handler
  private let finish: @Sendable (Response, CallContext) throws -> Response

  /// - Parameters:
  ///   - prepare: Passes the request, or what the handler reads and writes, through the interceptors.
  ///   - finish: Passes the response through the interceptors.
  init(
    _ interceptors: [any ServerInterceptor],
    _ prepare: @escaping @Sendable (Input, CallContext) throws -> Input,
    _ handler: @escaping Handler,
    _ finish: @escaping @Sendable (Response, CallContext) throws -> Response = { response, _ in response }
  ) {
    first = interceptors[0]
    self.interceptors = interceptors
    self.prepare = prepare
    self.handler = handler
    self.finish = finish
  }

  func call(_ input: Input) -> Call { Call(self, input) }

  /// A call of the method.
  final class Call: InterceptedHandler<Response>, @unchecked Sendable {
    private let method: InterceptedMethod
    private let input: Input

    fileprivate init(_ method: InterceptedMethod, _ input: Input) {
      self.method = method
      self.input = input
      super.init(method.interceptors)
    }

    @inline(__always)
    func begin(_ context: CallContext) async throws -> Response {
      try await method.first.intercept(context, next: NextHandler(handler: self, index: 1))
    }

    override func run(_ context: CallContext) async throws -> Response {
      try await finish(method.handler(prepare(context), context), context)
    }

    // Functions of their own, so that what they need is not part of the frame that waits for the handler.
    @inline(never)
    private func prepare(_ context: CallContext) throws -> Input { try method.prepare(input, context) }
    @inline(never)
    private func finish(_ response: Response, _ context: CallContext) throws -> Response {
      try method.finish(response, context)
    }
  }
}
