import Foundation
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

/// A private PostgreSQL server in a temporary folder, which ends with the process that created it.
///
/// Without fsync: tests survive no power loss. Connect through the folder's socket, or the port on loopback.
public final class PostgreSQLCluster: Sendable {
  public struct Failure: Error, CustomStringConvertible {
    public let description: String
  }

  private static let common = Result { try PostgreSQLCluster() }

  /// The server that the tests of a process share. Tests that stop their server create their own.
  public static func shared() throws -> PostgreSQLCluster { try common.get() }

  public let folder: String
  public let port: Int
  private let programs: String
  private let databases = Mutex(0)
  /// Its end tells the watchdog to stop the server, however this process ends.
  private let lifeline = Pipe()

  /// Creates and starts a server.
  ///
  /// - Parameter settings: Lines for postgresql.conf.
  public init(settings: [String] = []) throws {
    programs = try Self.findPrograms()
    // A socket's path has at most 107 bytes.
    folder = FileManager.default.temporaryDirectory.path + "/campanile-postgresql-\(UUID().uuidString.prefix(8))"
    port = try Self.freePort()
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    if getuid() == 0 { try ChildProcess.run(["chown", "postgres", folder], in: "/") }
    try startWatchdog()
    try runServerProgram(
      "initdb", "-D", data, "-A", "trust", "--locale=C", "--encoding=UTF8", "--no-sync", "-U", "postgres")
    let lines =
      settings + [
        "fsync = off", "listen_addresses = '127.0.0.1'", "port = \(port)", "unix_socket_directories = '\(folder)'",
        "max_connections = 500", "shared_buffers = 64MB", "logging_collector = off",
      ]
    try append(lines, to: "postgresql.conf")
    try start()
  }

  deinit { try? lifeline.fileHandleForWriting.close() }

  /// The folder of the server's data.
  public var data: String { folder + "/data" }

  /// Returns the address of a database, through the socket or the loopback port.
  public func address(
    _ database: String, user: String = "postgres", port: Int? = nil, throughSocket: Bool = false
  ) -> String {
    throughSocket
      ? "postgresql://\(user)@/\(database)?host=\(folder)&port=\(self.port)"
      : "postgresql://\(user)@127.0.0.1:\(port ?? self.port)/\(database)"
  }

  /// Creates an empty database and returns its name.
  public func createDatabase(_ options: String = "") throws -> String {
    let name = databases.withLock { count in
      count += 1
      return "test\(count)"
    }
    try query("CREATE DATABASE \(name) TEMPLATE template0 \(options)")
    return name
  }

  /// Runs SQL as the superuser and returns the rows as text.
  @discardableResult
  public func query(_ sql: String, database: String = "postgres") throws -> String {
    try runClient("psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", sql, database: database)
  }

  /// Runs a client program as the superuser and returns its output.
  func runClient(_ name: String, _ arguments: String..., database: String) throws -> String {
    let connection = ["-h", folder, "-p", "\(port)", "-U", "postgres", "-d", database]
    return try ChildProcess.run(["\(programs)/\(name)"] + connection + arguments, in: "/")
  }

  public func start() throws {
    try runServerProgram("pg_ctl", "-D", data, "-w", "-l", folder + "/log", "start")
  }

  /// Ends all server processes at once, as a crash would.
  public func kill() throws { try runServerProgram("pg_ctl", "-D", data, "-m", "immediate", "-w", "stop") }

  public func reload() throws { try runServerProgram("pg_ctl", "-D", data, "reload") }

  /// The server's certificate, which it signs itself.
  public var certificate: String { folder + "/server.crt" }

  /// Makes the server accept TLS with a certificate for one name.
  public func enableTLS(name: String) throws {
    try runServerProgram(
      "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
      "-subj", "/CN=\(name)", "-addext", "subjectAltName=DNS:\(name)", "-keyout", "\(folder)/server.key", "-out",
      certificate)
    try query("ALTER SYSTEM SET ssl_cert_file = '\(certificate)'")
    try query("ALTER SYSTEM SET ssl_key_file = '\(folder)/server.key'")
    try query("ALTER SYSTEM SET ssl = on")
    try reload()
  }

  /// The id of the server's first process.
  public func processID() throws -> Int32 {
    let text = try String(contentsOfFile: data + "/postmaster.pid", encoding: .utf8)
    guard let id = text.split(separator: "\n").first.flatMap({ Int32($0) }) else {
      throw Failure(description: "no process id in postmaster.pid")
    }
    return id
  }

  /// Puts lines in front of a file in the data folder. The first match counts in pg_hba.conf.
  public func prepend(_ lines: [String], to file: String) throws {
    let path = "\(data)/\(file)"
    let old = try String(contentsOfFile: path, encoding: .utf8)
    try write(lines.joined(separator: "\n") + "\n" + old, path)
  }

  private func append(_ lines: [String], to file: String) throws {
    let path = "\(data)/\(file)"
    let old = try String(contentsOfFile: path, encoding: .utf8)
    try write(old + "\n" + lines.joined(separator: "\n") + "\n", path)
  }

  /// Writes in place, so that the file keeps its owner.
  private func write(_ text: String, _ path: String) throws {
    guard let handle = FileHandle(forWritingAtPath: path) else { throw Failure(description: "cannot write \(path)") }
    try handle.truncate(atOffset: 0)
    try handle.write(contentsOf: Data(text.utf8))
    try handle.close()
  }
}

extension PostgreSQLCluster {
  private static func findPrograms() throws -> String {
    let folder = "/usr/lib/postgresql"
    let versions = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    guard let newest = versions.compactMap(Int.init).max() else {
      throw Failure(description: "no server in \(folder); install Debian's postgresql")
    }
    return "\(folder)/\(newest)/bin"
  }

  private static func freePort() throws -> Int {
    let (descriptor, port) = try Loopback.listen()
    close(descriptor)
    return port
  }

  /// Starts a shell that waits for the end of this process, then stops the server and removes its folder.
  private func startWatchdog() throws {
    for end in [lifeline.fileHandleForReading, lifeline.fileHandleForWriting] {
      _ = fcntl(end.fileDescriptor, F_SETFD, FD_CLOEXEC)
    }
    let script = """
      trap '' INT TERM HUP; cat >/dev/null
      pid=$(head -1 \(data)/postmaster.pid 2>/dev/null) && kill -CONT "$pid" && kill -QUIT "$pid"
      for i in 1 2 3 4 5 6 7 8 9 10; do [ -e \(data)/postmaster.pid ] || break; sleep 0.2; done
      rm -rf \(folder)
      """
    let output = open("/dev/null", O_WRONLY | O_CLOEXEC)
    defer { close(output) }
    _ = try ChildProcess(
      ["sh", "-c", script], input: lifeline.fileHandleForReading.fileDescriptor, output: output, folder: "/")
    try lifeline.fileHandleForReading.close()
  }

  /// Runs a program of the server, which refuses to run as root.
  @discardableResult
  private func runServerProgram(_ name: String, _ arguments: String...) throws -> String {
    let user = getuid() == 0 ? ["runuser", "-u", "postgres", "--"] : []
    return try ChildProcess.run(user + [name == "openssl" ? name : "\(programs)/\(name)"] + arguments, in: folder)
  }
}
