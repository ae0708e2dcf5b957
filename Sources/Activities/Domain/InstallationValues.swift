import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService

/// An installation of an app on a device of a user.
struct InstallationKey: Sendable, Hashable {
  var user: String
  var app: String
  var id: String
}

/// Values that an app reports about its installation; nil if unknown, or to keep the known value.
struct InstallationValues: Sendable, Hashable {
  var osVersion: OSVersion?
  var hasFrequentPushes: Bool?

  var isEmpty: Bool { self == InstallationValues() }
}

extension InstallationValues {
  init(_ osVersion: OsVersion?, hasFrequentPushes: Bool?) {
    self.init(
      osVersion: osVersion.map { OSVersion(major: $0.major, minor: $0.minor, patch: $0.patch) },
      hasFrequentPushes: hasFrequentPushes)
  }

  /// Validates a request and returns its values. Throws INVALID_ARGUMENT naming every invalid field.
  init(_ request: UpdateInstallationRequest) throws(RPCError) {
    var violations = Violations()
    request.validate(into: &violations)
    ActivityRules.app(request.app, "app", &violations)
    try violations.check()
    self.init(request.osVersion, hasFrequentPushes: request.frequentPushesEnabled)
  }
}

/// A version of iOS or iPadOS, with the first ones that have a feature ("Starting and updating Live Activities with
/// ActivityKit push notifications").
struct OSVersion: Sendable, Hashable, Comparable {
  /// The first version whose activities can be started remotely.
  static let remoteStart = OSVersion(major: 17, minor: 2, patch: 0)
  /// The first version with broadcast channels.
  static let channels = OSVersion(major: 18, minor: 0, patch: 0)
  /// Greater than each part.
  private static let base: Int64 = 10_000

  var major: Int32
  var minor: Int32
  var patch: Int32

  init(major: Int32, minor: Int32, patch: Int32) {
    (self.major, self.minor, self.patch) = (major, minor, patch)
  }

  /// Reads the number that the database contains.
  init(number: Int64) {
    self.init(
      major: Int32(clamping: number / Self.base / Self.base), minor: Int32(number / Self.base % Self.base),
      patch: Int32(number % Self.base))
  }

  /// The version as one number, which ascends with it.
  var number: Int64 { (Int64(major) * Self.base + Int64(minor)) * Self.base + Int64(patch) }

  static func < (a: Self, b: Self) -> Bool { a.number < b.number }

  /// Returns whether a device can start an activity by a push. An unknown version is not excluded.
  static func canStart(_ version: OSVersion?, hasChannel: Bool) -> Bool {
    version.map { $0 >= (hasChannel ? channels : remoteStart) } ?? true
  }
}
