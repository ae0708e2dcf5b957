import CampanileClient

/// The dictionary of a message over WatchConnectivity.
enum CompanionDictionary {
  static let key = "campanile"

  static func encode(_ message: CompanionMessage, source: String) -> [String: Any] {
    var values = ["type": message.type.rawValue, "timestamp": message.timestamp, "source": source]
    values["entityId"] = message.entityId
    return [key: values]
  }

  /// Returns `nil` for a dictionary of the app's own.
  static func decode(_ dictionary: [String: Any]) -> (message: CompanionMessage, source: String)? {
    guard let values = dictionary[key] as? [String: String],
      let type = values["type"].flatMap({ CompanionMessage.UpdateType(rawValue: $0) }),
      let timestamp = values["timestamp"], let source = values["source"]
    else { return nil }
    var message = CompanionMessage(type, entityID: values["entityId"])
    message.timestamp = timestamp
    return (message, source)
  }
}

#if canImport(WatchConnectivity) && !os(macOS) && !os(tvOS) && !os(visionOS)
  public import Foundation
  public import WatchConnectivity

  /// The direct way between an iPhone and its Watch. It is optional: the same messages also go over the server.
  ///
  /// A message that arrives both ways is handled once, by `SyncZone.receivedFromCompanion`.
  public final class CompanionLink: NSObject, WCSessionDelegate, Sendable {
    private let source: String
    private let received: @Sendable (CompanionMessage, String) -> Void

    /// Activates the session.
    ///
    /// - Parameter received: Receives messages, with the id of the device that sent them.
    public init(
      device: SyncDeviceConfiguration,
      received: @escaping @Sendable (_ message: CompanionMessage, _ source: String) -> Void
    ) {
      source = device.id
      self.received = received
      super.init()
      guard WCSession.isSupported() else { return }
      WCSession.default.delegate = self
      WCSession.default.activate()
    }

    /// Sends a message: immediately if the other app runs, otherwise when the system transfers it.
    public func send(_ message: CompanionMessage) {
      guard WCSession.isSupported(), WCSession.default.activationState == .activated else { return }
      let dictionary = CompanionDictionary.encode(message, source: source)
      guard WCSession.default.isReachable else {
        WCSession.default.transferUserInfo(dictionary)
        return
      }
      WCSession.default.sendMessage(dictionary, replyHandler: nil) { _ in
        WCSession.default.transferUserInfo(dictionary)
      }
    }

    private func handle(_ dictionary: [String: Any]) {
      guard let (message, source) = CompanionDictionary.decode(dictionary) else { return }
      received(message, source)
    }

    public func session(_ session: WCSession, didReceiveMessage message: [String: Any]) { handle(message) }
    public func session(_ session: WCSession, didReceiveUserInfo userInfo: [String: Any]) { handle(userInfo) }
    public func session(
      _ session: WCSession, activationDidCompleteWith state: WCSessionActivationState, error: (any Error)?
    ) {}
    #if os(iOS) || os(Linux)
      public func sessionDidBecomeInactive(_ session: WCSession) {}
      public func sessionDidDeactivate(_ session: WCSession) { session.activate() }
    #endif
  }
#endif
