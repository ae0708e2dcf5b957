import CPostgreSQL
import CampanileStore

/// The address of a server's database and the parameters of its connections, as libpq names them.
struct ServerAddress: Sendable, Hashable {
  /// The parameters that hold a secret.
  private static let secrets: Set<String> = [
    "password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key",
  ]

  private var parameters: [String: String]

  /// Parses an address: a URI, or `keyword=value` pairs.
  ///
  /// - Throws: `invalidArgument` for an address that libpq does not understand, or without any database.
  init(_ text: String, setting: String, defaultDatabase: String?) throws(StoreError) {
    var message: UnsafeMutablePointer<CChar>?
    guard let options = PQconninfoParse(text, &message) else {
      defer { PQfreemem(message) }
      // libpq's message repeats the address, which may contain a password.
      throw StoreError(.invalidArgument, "\(setting): not an address like postgresql://user@host:5432/database")
    }
    defer { PQconninfoFree(options) }
    var parameters: [String: String] = [:]
    var option = options
    while let keyword = option.pointee.keyword {
      if let value = option.pointee.val { parameters[String(cString: keyword)] = String(cString: value) }
      option += 1
    }
    if parameters["dbname"]?.isEmpty ?? true { parameters["dbname"] = defaultDatabase }
    self.parameters = parameters
    guard let database = parameters["dbname"], !database.isEmpty else {
      throw StoreError(.invalidArgument, "\(setting): the address names no database", path: place)
    }
  }

  /// Whether the address contains a password or another secret.
  var hasPassword: Bool { !Self.secrets.isDisjoint(with: parameters.keys) }
  var database: String { parameters["dbname"] ?? "" }
  var user: String? { parameters["user"] }

  /// The address for messages, without a password.
  var place: String {
    let hosts = Self.list(parameters["host"] ?? parameters["hostaddr"] ?? "")
    let ports = Self.list(parameters["port"] ?? "")
    let servers = hosts.enumerated().map { index, host in
      let port = ports.isEmpty ? "" : ports[min(index, ports.count - 1)]
      return port.isEmpty ? host : "\(host):\(port)"
    }
    let user = user.map { $0 + "@" } ?? ""
    return "postgresql://\(user)\(servers.joined(separator: ","))/\(database)"
  }

  /// The hosts with their ports. Addresses (`hostaddr`) stand for hosts without a name.
  var hosts: [(name: String, port: String)] {
    let names = Self.list(parameters["host"] ?? parameters["hostaddr"] ?? "")
    let ports = Self.list(parameters["port"] ?? "")
    return names.enumerated().map { index, name in
      let port = ports.isEmpty ? "" : ports[min(index, ports.count - 1)]
      return (name, port.isEmpty ? "5432" : port)
    }
  }

  /// Returns the address with its hosts in another order.
  func ordered(_ positions: [Int]) -> ServerAddress {
    var address = self
    for keyword in ["host", "hostaddr", "port"] {
      guard let list = parameters[keyword].map(Self.list), list.count == positions.count else { continue }
      address.parameters[keyword] = positions.map { list[$0] }.joined(separator: ",")
    }
    return address
  }

  /// Returns all parameters of a connection, with defaults for those that the address does not give.
  func connection(_ role: SessionRole, _ limits: PostgreSQLLimits) -> [String: String] {
    var all = [
      "application_name": "campanile", "connect_timeout": "2", "keepalives": "1", "keepalives_idle": "5",
      "keepalives_interval": "2", "keepalives_count": "3", "target_session_attrs": "read-write",
      "tcp_user_timeout": "\(limits.silenceMsMax)",
    ]
    all.merge(parameters) { _, given in given }
    all["client_encoding"] = "UTF8"
    // A reader's session is read-only, which libpq would take for a server that refuses writes.
    if role == .reader, all["target_session_attrs"] == "read-write" { all["target_session_attrs"] = "primary" }
    let own = SessionSettings.options(role, limits)
    all["options"] = parameters["options"].map { "\($0) \(own)" } ?? own
    return all
  }

  private static func list(_ text: String) -> [String] {
    text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
  }
}

/// The server's settings for each session.
enum SessionSettings {
  /// Returns them in the form of libpq's `options`.
  static func options(_ role: SessionRole, _ limits: PostgreSQLLimits) -> String {
    var settings = [
      "DateStyle=ISO", "TimeZone=UTC", "IntervalStyle=postgres", "client_min_messages=warning", "jit=off",
      "default_transaction_isolation=read\\ committed", "statement_timeout=0",
      // The server ends the session of a vanished client, whose transaction would otherwise stop all writers.
      "idle_in_transaction_session_timeout=\(limits.silenceMsMax)",
    ]
    // Ends before the connection is closed, so that the error names the cause.
    settings.append("lock_timeout=\(max(1, limits.silenceMsMax * 9 / 10))")
    if role == .reader { settings.append("default_transaction_read_only=on") }
    return settings.map { "-c \($0)" }.joined(separator: " ")
  }
}
