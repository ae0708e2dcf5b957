import CampanileRPC
import Logging

/// A part of an executable that can apply new settings while it runs.
public struct Reloadable: Sendable {
  /// The settings that the part can apply. A change of a setting that no part can apply needs a restart.
  public var keys: Set<String>
  /// Validates new settings without applying them, and returns a function that applies them and cannot fail.
  ///
  /// Called at every reload, even if the settings are unchanged, because files that they name may have changed.
  public var prepare: @Sendable (Settings) throws -> @Sendable () -> Void

  public init(keys: Set<String>, prepare: @escaping @Sendable (Settings) throws -> @Sendable () -> Void) {
    self.keys = keys
    self.prepare = prepare
  }

  /// Reloads the log level. A level set by the operator stays in effect unless the configured level changes.
  static func logLevel(_ levels: SharedLogLevel) -> Reloadable {
    Reloadable(keys: [CommonConfiguration.logLevel]) { settings in
      let level = Logger.Level(rawValue: try settings.string(CommonConfiguration.logLevel)) ?? .info
      return { levels.configure(level) }
    }
  }

  /// Reloads the certificates of the process's servers.
  static func certificates(_ tls: ServerTLSContext?) -> Reloadable {
    let keys = CommonConfiguration.tlsFiles
    return Reloadable(keys: Set(keys)) { settings in
      let files = try CommonConfiguration.serverTLS(settings)
      guard (files == nil) == (tls == nil),
        (files?.clientCertificateAuthoritiesFile != nil) == (tls?.asksForCertificates ?? false)
      else {
        throw ConfigurationError(
          code: .needsRestart, key: CommonConfiguration.tlsCertFile,
          message: "TLS and client certificates can be enabled or disabled only by a restart")
      }
      guard let tls, let files else { return {} }
      return try files.explained { try tls.prepare(files) }
    }
  }
}

extension ServerTLS {
  /// Runs a function that reads the files.
  ///
  /// - Throws: `StartupError` with the names of the files if the function fails.
  func explained<Result>(_ body: () throws -> Result) throws(StartupError) -> Result {
    do { return try body() } catch {
      throw StartupError("cannot use the certificate \(certificateChainFile) with the key \(privateKeyFile): \(error)")
    }
  }
}
