import Foundation

/// The environment of APNs that an app's tokens belong to, as Activities names it.
public struct PushEnvironment: RawRepresentable, Hashable, Sendable {
  public let rawValue: String

  public init(rawValue: String) { self.rawValue = rawValue }

  /// A build from Xcode.
  public static let development = PushEnvironment(rawValue: "development")
  /// TestFlight. Activities maps it to Apple's production server unless the operator configures another one.
  public static let sandbox = PushEnvironment(rawValue: "sandbox")
  /// The App Store.
  public static let production = PushEnvironment(rawValue: "production")

  /// The environment of this build: `development` for debug builds, `sandbox` if TestFlight installed it.
  public static var current: PushEnvironment {
    #if DEBUG
      of(isDebug: true, receiptName: nil)
    #elseif canImport(Darwin)
      of(isDebug: false, receiptName: Bundle.main.appStoreReceiptURL?.lastPathComponent)
    #else
      of(isDebug: false, receiptName: nil)
    #endif
  }

  static func of(isDebug: Bool, receiptName: String?) -> PushEnvironment {
    if isDebug { return .development }
    return receiptName == "sandboxReceipt" ? .sandbox : .production
  }
}
