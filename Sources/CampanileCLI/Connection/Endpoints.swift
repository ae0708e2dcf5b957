internal import Foundation

/// What `campanile up` writes to `endpoints.json`: where each part of the suite listens, and the secrets to be let in.
public struct Endpoints: Sendable, Hashable, Codable {
  /// One executable's ports on 127.0.0.1.
  public struct Service: Sendable, Hashable, Codable {
    public var rpc: Int
    /// For the gateway its public HTTP port, for a service that of `/metrics` and `/healthz`.
    public var http: Int
    /// The gateway's administrator key.
    public var adminKey: String?
    /// The gateway's surface for the operator.
    public var admin: Int?

    public init(rpc: Int, http: Int, adminKey: String? = nil, admin: Int? = nil) {
      self.rpc = rpc
      self.http = http
      self.adminKey = adminKey
      self.admin = admin
    }
  }

  /// What an APNs in place of the simulator needs to know to take the suite's pushes.
  public struct APNs: Sendable, Hashable, Codable {
    public var teamId: String
    public var keyId: String
    /// PEM of the public half of the key that provider tokens are signed with.
    public var publicKeyPem: String
    /// The app of examples; the key is for every app.
    public var topic: String
    /// Ports of the simulator, where it runs: senders' and the control API's.
    public var simulator: Simulator?

    public struct Simulator: Sendable, Hashable, Codable {
      public var apns: Int
      public var control: Int
      /// PEM of what senders are to trust.
      public var trustFile: String
    }
  }

  /// By the short name, for example `notifications`.
  public var services: [String: Service]
  /// What services ask of those who name a principal.
  public var internalToken: String?
  public var apns: APNs?

  public init(services: [String: Service], internalToken: String?, apns: APNs? = nil) {
    self.apns = apns
    self.services = services
    self.internalToken = internalToken
  }

  public static let fileName = "endpoints.json"
  /// The largest file that is read.
  static let sizeBytesMax = 1 << 20

  private struct Key: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
    static let internalToken = Key(stringValue: "internalToken")
    static let apns = Key(stringValue: "apns")
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    services = [:]
    let others = [Key.internalToken.stringValue, Key.apns.stringValue]
    for key in container.allKeys where !others.contains(key.stringValue) {
      services[key.stringValue] = try container.decode(Service.self, forKey: key)
    }
    internalToken = try container.decodeIfPresent(String.self, forKey: .internalToken)
    apns = try container.decodeIfPresent(APNs.self, forKey: .apns)
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    for (name, service) in services { try container.encode(service, forKey: Key(stringValue: name)) }
    try container.encodeIfPresent(internalToken, forKey: .internalToken)
    try container.encodeIfPresent(apns, forKey: .apns)
  }

  /// Reads the file of `folder`; `nil` when there is none. Throws `UsageError` when it cannot be read or is something else.
  public static func read(folder: String) throws(UsageError) -> Endpoints? {
    let path = folder + "/" + fileName
    guard FileManager.default.fileExists(atPath: path) else { return nil }
    guard let bytes = FileManager.default.contents(atPath: path), bytes.count <= sizeBytesMax,
      let endpoints = try? JSONDecoder().decode(Endpoints.self, from: bytes)
    else { throw UsageError("cannot read \(path): it is not readable, or not what `campanile up` writes") }
    return endpoints
  }

  /// Writes the file with mode 0600 in one step, so that a reader sees all of it or none.
  public func write(folder: String) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    try PrivateFile.write(try encoder.encode(self) + Data("\n".utf8), to: folder + "/" + Self.fileName)
  }

  /// The folders that are searched when none is named, first match first.
  public static func defaultFolders(home: String?) -> [String] {
    ["./.campanile"] + (home.map { [$0 + "/.campanile"] } ?? [])
  }
}

/// What the user asked for cannot be done as asked; the exit code is 64 (EX_USAGE of sysexits.h).
public struct UsageError: Error, Sendable, Hashable, CustomStringConvertible {
  public var description: String
  public static let exitCode: Int32 = 64

  public init(_ description: String) { self.description = description }
}

/// Files and folders that nobody but their owner may read.
enum PrivateFile {
  /// Makes the folder at `path`, with those above it, where it is missing. Throws `UsageError`.
  static func makeFolder(_ path: String) throws(UsageError) {
    do {
      try FileManager.default.createDirectory(
        atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    } catch {
      throw UsageError("cannot make the folder \(path): \(error)")
    }
  }

  /// Replaces `path` by `data` in one step, with mode 0600.
  static func write(_ data: Data, to path: String) throws {
    let temporary = path + ".\(getpid()).tmp"
    unlink(temporary)
    let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    do {
      defer { close(descriptor) }
      try Console.write(Array(data), to: descriptor)
      guard fsync(descriptor) == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    }
    guard rename(temporary, path) == 0 else {
      let failure = POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
      unlink(temporary)
      throw failure
    }
  }
}
