import CPostgreSQL
import CampanileStore

/// Explains why a connection was not established. libpq reports it as text only.
enum ConnectFailure {
  static func error(_ handle: OpaquePointer, _ address: ServerAddress) -> StoreError {
    let text = PQerrorMessage(handle).map { String(cString: $0) } ?? ""
    let lines = text.split(whereSeparator: \.isNewline).map(String.init)
    let user = address.user ?? PQuser(handle).map { String(cString: $0) } ?? "?"
    let (code, state, message) = cause(lines, handle, user, address)
    return StoreError(code, message, path: address.place, engineCode: state)
  }

  private static func cause(
    _ lines: [String], _ handle: OpaquePointer, _ user: String, _ address: ServerAddress
  ) -> (StoreError.Code, String, String) {
    let text = lines.joined(separator: "; ")
    if PQconnectionNeedsPassword(handle) == 1 {
      return (
        .unavailable, "28P01", "the server asks for a password of user \(user); put it into ~/.pgpass or a passfile"
      )
    }
    if text.contains("password authentication failed") {
      return (.unavailable, "28P01", "the server refused the password of user \(user)")
    }
    if text.contains("too many clients") || text.contains("remaining connection slots")
      || text.contains("too many connections")
    {
      return (.overloaded, "53300", "the server has no connection left; increase max_connections")
    }
    if text.contains("does not exist"), text.contains("database") {
      return (
        .unavailable, "3D000", "there is no database \(address.database); \(ServerCheck.creation(address))"
      )
    }
    if text.contains("permission denied for database") {
      let database = ServerCheck.identifier(address.database)
      return (
        .unavailable, "42501",
        "the user has no right to connect; run: "
          + "GRANT CONNECT ON DATABASE \(database) TO \(ServerCheck.identifier(user))"
      )
    }
    if text.contains("timeout expired") {
      return (.unavailable, "08001", "the server did not respond in time: \(text)")
    }
    return (.unavailable, "08001", text.isEmpty ? "the connection failed" : text)
  }
}
