public import CampanileCall
public import CampanileCall
public import Foundation

/// A gateway of Campanile, as an app sees it. The modules of the services add their clients and watches.
///
/// ```swift
/// let campanile = Campanile(URL(string: "https://api.example")!, credentials: FixedCredential(key: key))
/// let buckets = try await campanile.notifications.service.listBuckets(.init()).buckets
/// for try await event in campanile.notifications.watch() { … }
/// ```
public struct Campanile: Sendable {
  /// The transport, for clients of other services and for an `Outbox`.
  public let caller: HTTPCaller
  /// The gateway's address.
  public var url: URL { caller.url }
  /// Ends the pauses of watches early: notify it once the network is back.
  public let reconnect: ReconnectSignal
  private let watching: WatchConfiguration

  /// - Parameters:
  ///   - url: The gateway's address, such as `https://api.example`.
  ///   - credentials: `FixedCredential` for an API key; `StoredCredentials` for a credential that is renewed.
  public init(
    _ url: URL, credentials: any CredentialSource = NoCredentials(), configuration: HTTPCallerConfiguration = .init(),
    watching: WatchConfiguration = .init(), environment: ClientEnvironment = .system,
    reconnect: ReconnectSignal = .init()
  ) {
    caller = HTTPCaller(url, credentials: credentials, configuration: configuration, environment: environment)
    self.reconnect = reconnect
    self.watching = watching
  }

  /// Returns the events of a watch method.
  public func watch<Request: WatchRequest, Response: WatchResponse>(
    _ method: MethodDescriptor, _ request: Request, as response: Response.Type = Response.self
  ) -> Watch<Request, Response> {
    Watch(
      method, request, caller: caller, configuration: watching, environment: caller.environment, reconnect: reconnect)
  }
}
