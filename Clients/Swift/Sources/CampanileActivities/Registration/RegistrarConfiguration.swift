import Foundation

/// The identity of an app's installation.
public struct RegistrarConfiguration: Sendable, Hashable {
  /// The bundle id of the app, also in its extensions.
  public var app: String
  public var environment: PushEnvironment
  /// Identifies the installation among the user's devices: 1 to 128 characters of `[A-Za-z0-9._:-]`. Empty if the user
  /// has the app on one device only.
  public var installationID: String
  /// The version of the system; `nil` if it is unknown.
  public var osVersion: OsVersion?

  public init(
    app: String, environment: PushEnvironment = .current, installationID: String = "",
    osVersion: OsVersion? = RegistrarConfiguration.systemVersion
  ) {
    self.app = app
    self.environment = environment
    self.installationID = installationID
    self.osVersion = osVersion
  }

  /// The version of iOS; `nil` on other systems.
  public static var systemVersion: OsVersion? {
    #if os(iOS)
      let version = ProcessInfo.processInfo.operatingSystemVersion
      return OsVersion(
        major: Int32(clamping: version.majorVersion), minor: Int32(clamping: version.minorVersion),
        patch: Int32(clamping: version.patchVersion))
    #else
      return nil
    #endif
  }
}
