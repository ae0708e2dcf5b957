import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC

/// The view of a caller in `GetCaller`.
enum CallerView {
  static func caller(of call: LocalCall, _ sessions: ConsoleSessions) -> CallerIdentity {
    var view = CallerIdentity()
    view.principal = call.principalName ?? ""
    guard let credential = call.credential else {
      view.kind = .internal
      let scopes = call.identity[Principal.scopesMetadataKey] ?? ""
      let isNamed = call.identity[Principal.metadataKey] != nil
      view.scopes = isNamed ? scopes.split(separator: " ").map(String.init) : ["admin"]
      view.deviceId = call.identity[Principal.deviceMetadataKey] ?? ""
      return view
    }
    view.scopes = credential.scopes.map(\.description)
    view.deviceId = credential.principal.deviceID
    view.expireTime = credential.expiresAtMs.map { ProtoTimestamp(millisecondsSince1970: $0) }
    if let session = sessions.session(of: credential) {
      view.kind = .consoleSession
      view.sessionId = session.id
      view.keyId = session.stored.keyID
      view.lodgeMemberId = session.stored.lodgeMemberID
      return view
    }
    view.kind =
      switch credential.id.prefix(2) {
      case "j_": .token
      case "c_": .certificate
      default: .apiKey
      }
    if view.kind == .apiKey { view.keyId = credential.id }
    return view
  }
}
