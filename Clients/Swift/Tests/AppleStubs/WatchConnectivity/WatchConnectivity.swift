// A stand-in for Apple's framework: the declarations that this package uses, with a working part for tests.

public enum WCSessionActivationState: Int, Sendable { case notActivated, inactive, activated }

public protocol WCSessionDelegate: AnyObject {
  func session(
    _ session: WCSession, activationDidCompleteWith state: WCSessionActivationState, error: (any Error)?)
  func sessionDidBecomeInactive(_ session: WCSession)
  func sessionDidDeactivate(_ session: WCSession)
  func session(_ session: WCSession, didReceiveMessage message: [String: Any])
  func session(_ session: WCSession, didReceiveUserInfo userInfo: [String: Any])
}

public final class WCSession: @unchecked Sendable {
  public static let `default` = WCSession()
  public weak var delegate: (any WCSessionDelegate)?
  public var activationState = WCSessionActivationState.notActivated
  /// For tests: whether the other app runs, and what was sent.
  public var isReachable = false
  public var messages: [[String: Any]] = []
  public var transfers: [[String: Any]] = []

  public static func isSupported() -> Bool { true }
  public func activate() { activationState = .activated }

  public func sendMessage(
    _ message: [String: Any], replyHandler: (([String: Any]) -> Void)?, errorHandler: ((any Error) -> Void)? = nil
  ) {
    messages.append(message)
  }

  @discardableResult
  public func transferUserInfo(_ userInfo: [String: Any]) -> WCSessionUserInfoTransfer {
    transfers.append(userInfo)
    return WCSessionUserInfoTransfer()
  }
}

public final class WCSessionUserInfoTransfer {}
