import CPostgreSQL
import CampanileStore

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Connects to a server and prepares sessions.
struct SessionOpener: Sendable {
  let address: ServerAddress
  let limits: PostgreSQLLimits
  let counters: PostgreSQLCounters
  let order = HostOrder()

  /// Connects, checks the server, and for the writer creates the tables of its lane.
  ///
  /// libpq waits for `connect_timeout` at most, for each address of each host.
  func open(_ role: SessionRole) throws(StoreError) -> Session {
    let handle = try connect(role)
    let session = Session(handle, place: address.place, silenceMsMax: limits.silenceMsMax, counters: counters)
    try ServerCheck.checkServer(handle, address)
    guard PQsetnonblocking(handle, 1) == 0, PQenterPipelineMode(handle) == 1 else {
      throw session.end("the connection has no pipeline mode")
    }
    if role == .writer { try prepareDatabase(session) }
    for statement in ControlStatement.allCases where statement.isFor(role) {
      try session.prepare(statement.name, statement.sql)
    }
    try session.sync()
    return session
  }

  private func connect(_ role: SessionRole) throws(StoreError) -> OpaquePointer {
    let positions = order.positions(address.hosts.count)
    let begun = ContinuousClock.now
    let parameters = address.ordered(positions).connection(role, limits).sorted { $0.key < $1.key }
    let handle = Self.withPointers(parameters.map(\.key)) { keywords in
      Self.withPointers(parameters.map(\.value)) { values in PQconnectdbParams(keywords, values, 0) }
    }
    guard let handle else { throw StoreError(.unavailable, "libpq has no memory", path: address.place) }
    guard PQstatus(handle) == CONNECTION_OK else {
      defer { PQfinish(handle) }
      let messages = PQerrorMessage(handle).map { String(cString: $0) } ?? ""
      order.record(messages: messages.split(whereSeparator: \.isNewline).map(String.init), address.hosts)
      throw ConnectFailure.error(handle, address)
    }
    let place = positions.firstIndex(of: acceptedHost(handle)) ?? 0
    order.record(tried: Array(positions[..<place]), accepted: positions[place], took: .now - begun)
    return handle
  }

  /// The position of the host that has accepted a connection; 0 if libpq does not name it.
  private func acceptedHost(_ handle: OpaquePointer) -> Int {
    let name = PQhost(handle).map { String(cString: $0) }
    let port = PQport(handle).map { String(cString: $0) }
    return address.hosts.firstIndex { $0.name == name && $0.port == port } ?? 0
  }

  private func prepareDatabase(_ session: Session) throws(StoreError) {
    var hasTables = false
    do {
      try session.ask(ServerCheck.query) { hasTables = try ServerCheck.checkDatabase($0, address) }
    } catch {
      throw .from(error, path: address.place)
    }
    if !hasTables { try session.runScript(LaneSchema.tables) }
    try session.send(Command(kind: .statement), text: LaneSchema.watchClient)
    try session.send(Command(kind: .statement), text: LaneSchema.purge)
    try session.send(Command(kind: .statement), text: LaneSchema.register(session: session.number))
    try session.waitForAll()
    if let failure = session.takeFailure() { throw failure.error }
  }

  /// Calls `body` with C strings and a null pointer after the last.
  private static func withPointers<T>(
    _ strings: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>?) -> T
  ) -> T {
    let copies = strings.map { strdup($0) }
    defer { for copy in copies { free(copy) } }
    let pointers = copies.map { UnsafePointer<CChar>($0) } + [nil]
    return pointers.withUnsafeBufferPointer { body($0.baseAddress) }
  }
}
