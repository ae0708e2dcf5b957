import CampanileRPC

/// The destination and the requirements of one method's calls. One object per method, shared by all calls.
final class Route: Sendable {
  enum Target: Sendable, Hashable {
    /// The gateway's own services.
    case local
    /// The backend's index in the routing table.
    case backend(Int)
  }

  let path: String
  let target: Target
  let requirement: Requirement
  /// The kind of the calls; the most general kind if no table describes the method.
  let kind: CallKind
  /// Whether a table describes the method. If so, its kind is certain, and unary calls get a default deadline.
  let isDescribed: Bool
  /// Whether its calls are refused first under overload.
  let isBulk: Bool
  /// Whether idempotency keys apply: the method is unary and has side effects.
  let isRepeatable: Bool
  /// Whether the response holds a secret, which is never stored.
  let hasSecretResponse: Bool
  /// Whether the request has a `request_id`, by which the service recognizes a repeat.
  let hasRequestID: Bool
  /// Whether two attempts may run concurrently: the method is unary and read-only.
  let isHedgeable: Bool
  /// Whether a session of Attendance is accepted instead of a credential.
  let takesSessions: Bool
  /// The rate limit for all calls of the method together.
  let rate: SharedBucket
  private let currentRate: CurrentRate
  let recorder: any MethodRecorder
  /// Observes the method's calls; nil if they are neither traced nor logged, and for the gateway's own methods.
  let observation: MethodObservation?

  init(
    path: String, target: Target, requirement: Requirement, kind: CallKind, isDescribed: Bool,
    isBulk: Bool = false, isRepeatable: Bool = false, hasSecretResponse: Bool = false, hasRequestID: Bool = false,
    isHedgeable: Bool = false, takesSessions: Bool = false,
    rate: RateLimit? = nil,
    recorder: any MethodRecorder, observation: MethodObservation? = nil
  ) {
    self.observation = observation
    self.path = path
    self.target = target
    self.requirement = requirement
    self.kind = kind
    self.isDescribed = isDescribed
    self.isBulk = isBulk
    self.isRepeatable = isRepeatable
    self.hasSecretResponse = hasSecretResponse
    self.hasRequestID = hasRequestID
    self.isHedgeable = isHedgeable
    self.takesSessions = takesSessions
    currentRate = CurrentRate(rate)
    self.rate = SharedBucket(currentRate)
    self.recorder = recorder
  }

  func limit(to rate: RateLimit?) { currentRate.set(rate) }
  /// Divides the rate among a number of gateways.
  func share(among gateways: Int) { currentRate.share(among: gateways) }
}

/// Maps method names to routes.
///
/// Described methods are looked up by their full name. Other methods of a backend's services are forwarded as well,
/// because a backend may be newer than the gateway. They count as the most general kind of call and require the right
/// `write`. Requirements of described methods come from their proto (`campanile.rpc.v1.access`).
struct RoutingTable: Sendable {
  static let methodBytesMax = 256
  /// Services without authentication whose standard protos cannot declare it.
  static let openServices: Set<String> = ["grpc.health.v1.Health"]

  private struct Prefix: Sendable {
    var bytes: [UInt8]
    var backend: Int
  }

  /// The backends' short names, in the order of their indices.
  let serviceNames: [String]
  private let routes: MethodTable<Route>
  private let prefixes: [Prefix]
  private let otherRecorder: any MethodRecorder
  private let otherObservation: MethodObservation?

  /// - Parameters:
  ///   - local: The gateway's own methods: public, for all callers with a credential, or for those with the scope
  ///     `admin`.
  ///   - methods: The methods of all backends, from the generated tables; methods without a matching prefix are
  ///     ignored.
  init(
    backends: [BackendConfiguration], local: [MethodDescriptor], methods: [MethodDescriptor],
    rates: [String: RateLimit] = [:], observer: any ServerObserver, observation: CallObservation? = nil
  ) {
    serviceNames = backends.map(\.name)
    prefixes = backends.enumerated().map { Prefix(bytes: Array($1.servicePrefix.utf8), backend: $0) }
    otherRecorder = observer.recorder(for: nil)
    otherObservation = observation.map { MethodObservation(nil, $0, isForwarded: true) }
    var entries: [(String, Route)] = []
    for method in methods {
      guard let index = backends.firstIndex(where: { method.path.hasPrefix($0.servicePrefix) }) else { continue }
      let route = Route(
        path: method.path, target: .backend(index),
        requirement: Requirement(kind: Requirement.Kind(method), serviceIndex: index),
        kind: method.kind, isDescribed: true, isBulk: method.isBulk || method.kind != .unary,
        isRepeatable: method.kind == .unary && method.idempotency != .noSideEffects,
        hasSecretResponse: method.hasSecretResponse, hasRequestID: method.hasRequestID,
        isHedgeable: method.kind == .unary && method.idempotency == .noSideEffects,
        takesSessions: backends[index].name == PresentedSession.serviceName, rate: rates[method.path],
        recorder: observer.recorder(for: method),
        observation: observation.map { MethodObservation(method, $0, isForwarded: true) })
      entries.append((method.path, route))
    }
    for method in local {
      let isOpen = method.scope == "public" || Self.openServices.contains(method.service)
      let kind: Requirement.Kind = isOpen ? .open : method.scope == "authenticated" ? .authenticated : .admin
      let route = Route(
        path: method.path, target: .local, requirement: Requirement(kind: kind), kind: method.kind,
        isDescribed: true, rate: rates[method.path], recorder: observer.recorder(for: method))
      entries.append((method.path, route))
    }
    routes = MethodTable(entries)
  }

  /// Returns the route of a method; `nil` if neither the gateway nor a backend has it.
  @inline(__always)
  func route(_ method: UnsafeRawBufferPointer) -> Route? { routes[method] ?? undescribed(method) }

  /// The routes of all described methods.
  var described: [Route] { routes.values }

  /// The routes, for the operator.
  var descriptions: [RouteDescription] {
    described.map { route in
      let service = if case .backend(let index) = route.target { serviceNames[index] } else { String?.none }
      let scope =
        route.requirement.kind == .open ? "public" : route.requirement.scope(serviceName: service ?? "")
      return RouteDescription(
        method: route.path, service: service, kind: "\(route.kind)", scope: scope, isBulk: route.isBulk,
        rate: route.rate.limit?.description)
    }.sorted { $0.method < $1.method }
  }

  private func undescribed(_ method: UnsafeRawBufferPointer) -> Route? {
    guard method.count <= Self.methodBytesMax, method.filter({ $0 == UInt8(ascii: "/") }).count == 1,
      let prefix = prefixes.first(where: { method.starts(with: $0.bytes) })
    else { return nil }
    return Route(
      path: String(decoding: method, as: UTF8.self), target: .backend(prefix.backend),
      requirement: Requirement(kind: .write, serviceIndex: prefix.backend), kind: .bidirectional, isDescribed: false,
      recorder: otherRecorder, observation: otherObservation)
  }
}
