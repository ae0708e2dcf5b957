import CampanileAttendance
public import CampanileClient
import Foundation

/// The session of a lodge member, in a store that the app's processes share.
///
/// It lasts 8 hours, and each call of `GetCurrentMember` renews it.
public struct LodgeSession: Sendable {
  let store: any CredentialStore
  private let environment: ClientEnvironment

  public init(_ store: any CredentialStore, environment: ClientEnvironment = .system) {
    self.store = store
    self.environment = environment
  }

  /// The credentials for the app's `Campanile`. An expired session is UNAUTHENTICATED: the member signs in again.
  public var credentials: StoredCredentials { StoredCredentials(store, environment: environment) }

  /// Whether the device has a session that has not expired.
  public var isActive: Bool {
    guard let credential = try? store.read() else { return false }
    return credential.expiresAtMs.map { $0 > environment.wallMs() } ?? true
  }

  /// Signs a member in.
  ///
  /// - Throws: UNAUTHENTICATED `CREDENTIALS_INVALID` for a wrong name or PIN; RESOURCE_EXHAUSTED `LOGIN_THROTTLED` with
  ///   the time to wait.
  func signIn(_ campanile: Campanile, name: String, pin: String) async throws -> Member {
    // The device's token of an earlier login keeps failures elsewhere from locking this device out.
    let deviceToken = try store.read()?.renewalSecret ?? ""
    let anonymous = Campanile(campanile.caller.url, environment: campanile.caller.environment)
    let response = try await anonymous.attendance.sessions.login(
      .init(name: name, pin: pin, deviceToken: deviceToken))
    try store.save(
      Credential(
        response.sessionToken, scheme: .attendanceSession, renewalSecret: response.deviceToken,
        expiresAtMs: response.session?.expireTime?.millisecondsSince1970))
    return response.member ?? Member()
  }

  /// Renews the session.
  func renew(_ campanile: Campanile) async throws -> Member {
    let response = try await campanile.attendance.sessions.getCurrentMember(.init())
    if let expiresAtMs = response.session?.expireTime?.millisecondsSince1970 {
      try store.update { credential in
        var credential = credential
        credential?.expiresAtMs = expiresAtMs
        return credential
      }
    }
    return response.member ?? Member()
  }

  /// Ends the session. The device keeps its token, so that the next login of the member is not delayed.
  func signOut(_ campanile: Campanile) async throws {
    _ = try? await campanile.attendance.sessions.logout(.init())
    try store.remove()
  }
}
