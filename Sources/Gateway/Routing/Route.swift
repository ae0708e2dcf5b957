import CampanileRPC

/// Where the calls of one method go, and what they need. One object a method, shared by all calls.
final class Route: Sendable {
  enum Target: Sendable, Hashable {
    /// The gateway's own services.
    case local
    /// The backend's number in the routing table.
    case backend(Int)
  }

  let path: String
  let target: Target
  let requirement: Requirement
  /// The shape of the calls. Methods that no table describes are taken for the most general one.
  let kind: CallKind
  /// Whether a table describes the method: then its kind is certain and a unary call gets a deadline.
  let isDescribed: Bool
  /// Whether its calls are the first to be refused under overload.
  let isBulk: Bool
  /// Whether a call whose answer was kept may be repeated: a unary one that changes something.
  let isRepeatable: Bool
  /// Whether the call may be made twice at the same time: a unary one that only reads.
  let isHedgeable: Bool
  /// Whether a session of Attendance's will do in place of a credential.
  let takesSessions: Bool
  /// What all calls of the method together may use.
  let rate: SharedBucket
  private let rateSetting: RateSetting
  let recorder: any MethodRecorder
  /// Watches its calls; nil where they are neither traced nor logged, and for the gateway's own methods.
  let observation: MethodObservation?

  init(
    path: String, target: Target, requirement: Requirement, kind: CallKind, isDescribed: Bool,
    isBulk: Bool = false, isRepeatable: Bool = false, isHedgeable: Bool = false, takesSessions: Bool = false,
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
    self.isHedgeable = isHedgeable
    self.takesSessions = takesSessions
    rateSetting = RateSetting(rate)
    self.rate = SharedBucket(rateSetting)
    self.recorder = recorder
  }

  func limit(to rate: RateLimit?) { rateSetting.set(rate) }
}

/// Decides where a call goes, by its method's name.
///
/// Methods that the generated tables describe are found whole. Other methods of a backend's services are forwarded too, since a
/// backend may be newer than the gateway: as the most general kind of call, and needing the scope to write.
/// What a method needs its proto says (`campanile.rpc.v1.access`).
struct RoutingTable: Sendable {
  static let methodBytesMax = 256
  /// The services that anyone may call and whose protos, being a standard's, cannot say so.
  static let openServices: Set<String> = ["grpc.health.v1.Health"]

  private struct Prefix: Sendable {
    var bytes: [UInt8]
    var backend: Int
  }

  /// The backends' short names, in the order of their numbers.
  let serviceNames: [String]
  private let routes: MethodTable<Route>
  private let prefixes: [Prefix]
  private let otherRecorder: any MethodRecorder
  private let otherObservation: MethodObservation?

  /// - Parameters:
  ///   - local: the methods that the gateway serves itself; those that are not public need the scope `admin`.
  ///   - methods: what the generated tables know of the backends' methods; those that no prefix fits are left out.
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
        isHedgeable: method.kind == .unary && method.idempotency == .noSideEffects,
        takesSessions: backends[index].name == PresentedSession.serviceName, rate: rates[method.path],
        recorder: observer.recorder(for: method),
        observation: observation.map { MethodObservation(method, $0, isForwarded: true) })
      entries.append((method.path, route))
    }
    for method in local {
      let isOpen = method.scope == "public" || Self.openServices.contains(method.service)
      let route = Route(
        path: method.path, target: .local, requirement: Requirement(kind: isOpen ? .open : .admin), kind: method.kind,
        isDescribed: true, rate: rates[method.path], recorder: observer.recorder(for: method))
      entries.append((method.path, route))
    }
    routes = MethodTable(entries)
  }

  /// The route of a method; `nil` when no service here has it.
  @inline(__always)
  func route(_ method: UnsafeRawBufferPointer) -> Route? { routes[method] ?? undescribed(method) }

  /// The routes that the tables describe.
  var described: [Route] { routes.values }

  /// What the operator is told of them.
  var facts: [RouteFacts] {
    described.map { route in
      let service = if case .backend(let index) = route.target { serviceNames[index] } else { String?.none }
      let scope =
        route.requirement.kind == .open ? "public" : route.requirement.scope(serviceName: service ?? "")
      return RouteFacts(
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
