import CampanileBase
internal import Foundation

/// The contents of `endpoints.json`, written by `campanile up`: the servers' ports and the secrets for calling them.
public struct Endpoints: Sendable, Hashable, Codable {
  /// The ports of one executable on 127.0.0.1.
  public struct Service: Sendable, Hashable, Codable {
    public var rpc: Int
    /// The gateway's public HTTP port, or a service's port for `/metrics`, `/healthz` and `/readyz`.
    public var http: Int
    /// The gateway's administrator key.
    public var adminKey: String?
    /// The gateway's admin port, which also serves its `/metrics`.
    public var admin: Int?

    public init(rpc: Int, http: Int, adminKey: String? = nil, admin: Int? = nil) {
      self.rpc = rpc
      self.http = http
      self.adminKey = adminKey
      self.admin = admin
    }
  }

  /// The data that an APNs server other than the simulator needs to accept the suite's pushes.
  public struct APNs: Sendable, Hashable, Codable {
    public var teamId: String
    public var keyId: String
    /// Public key (PEM) that verifies the provider tokens.
    public var publicKeyPem: String
    /// The topic of the example app; the key is valid for every app.
    public var topic: String
    /// Ports of the simulator, if it runs.
    public var simulator: Simulator?

    public struct Simulator: Sendable, Hashable, Codable {
      public var apns: Int
      public var control: Int
      /// CA certificates (PEM) that senders must trust.
      public var trustFile: String
    }
  }

  /// Services by short name, for example `notifications`.
  public var services: [String: Service]
  /// The token that services require from callers that name a principal.
  public var internalToken: String?
  public var apns: APNs?

  public init(services: [String: Service], internalToken: String?, apns: APNs? = nil) {
    self.apns = apns
    self.services = services
    self.internalToken = internalToken
  }

  public static let fileName = "endpoints.json"
  /// Maximum size of the file in bytes.
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

  /// Reads the file in `folder`.
  ///
  /// - Returns: The endpoints, or nil if there is no file.
  /// - Throws: `UsageError` if the file cannot be read or decoded.
  public static func read(folder: String) throws(UsageError) -> Endpoints? {
    let path = folder + "/" + fileName
    guard FileManager.default.fileExists(atPath: path) else { return nil }
    guard let bytes = FileManager.default.contents(atPath: path), bytes.count <= sizeBytesMax,
      let endpoints = try? JSONDecoder().decode(Endpoints.self, from: bytes)
    else { throw UsageError("cannot read \(path): it is not readable, or not what `campanile up` writes") }
    return endpoints
  }

  /// Writes the file atomically, with mode 0600.
  public func write(folder: String) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    try PrivateFile.write(try encoder.encode(self) + Data("\n".utf8), to: folder + "/" + Self.fileName)
  }

  /// Returns the folders to search if none is given, in order of precedence.
  public static func defaultFolders(home: String?) -> [String] {
    ["./.campanile"] + (home.map { [$0 + "/.campanile"] } ?? [])
  }
}

/// An invalid command, or one that cannot be carried out as given. The exit code is 64 (EX_USAGE of sysexits.h).
public struct UsageError: Error, Sendable, Hashable, CustomStringConvertible {
  public var description: String
  public static let exitCode: Int32 = 64

  public init(_ description: String) { self.description = description }
}

/// Folders that only their owner can access.
public enum PrivateFolder {
  /// Creates the folder at `path` and its parents if they are missing.
  ///
  /// - Throws: `UsageError` if the folder cannot be created.
  public static func make(_ path: String) throws(UsageError) {
    do {
      try FileManager.default.createDirectory(
        atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    } catch {
      throw UsageError("cannot make the folder \(path): \(error)")
    }
  }
}
