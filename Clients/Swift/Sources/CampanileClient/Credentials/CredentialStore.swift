public import CampanileBase

/// A store for one credential, shared by an app and its extensions.
///
/// Errors are UNAVAILABLE: a store that cannot be read is not an empty store. Nothing but `update` removes a
/// credential.
public protocol CredentialStore: Sendable {
  /// Returns the stored credential; `nil` if there is none.
  func read() throws(RPCError) -> Credential?

  /// Replaces the credential by the result of `change`, atomically for all processes.
  ///
  /// - Parameter change: Receives the stored credential. Returns its successor; `nil` removes it.
  func update(_ change: (Credential?) -> Credential?) throws(RPCError)

  /// Returns the right to renew the credential, or `nil` while another task or process has it. Releasing it gives it
  /// back, and so does the end of the process.
  func renewalPermit() throws(RPCError) -> (any RenewalPermit)?
}

extension CredentialStore {
  /// Stores a credential after a login.
  public func save(_ credential: Credential) throws(RPCError) { try update { _ in credential } }

  /// Removes the credential when the user logs out.
  public func remove() throws(RPCError) { try update { _ in nil } }
}

/// The right to renew a credential, until it is released.
public protocol RenewalPermit: AnyObject, Sendable {}

extension FileLock: RenewalPermit {}
