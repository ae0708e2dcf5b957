#if canImport(Security)
  public import CampanileBase
  public import Foundation
  import Security

  /// A credential in the Keychain, shared by the apps and extensions of an access group.
  ///
  /// The item is readable after the first unlock since the start of the device, and stays on the device. A locked
  /// Keychain is UNAVAILABLE, not an empty store. A folder of the app group has the locks.
  public struct KeychainCredentialStore: CredentialStore {
    private let service: String
    private let accessGroup: String?
    private let lockPath: String

    /// - Parameters:
    ///   - service: The name of the item, such as the gateway's host.
    ///   - accessGroup: The Keychain access group; `nil` for the app's own.
    ///   - folder: A folder that the processes share, such as the container of the app group.
    public init(service: String, accessGroup: String?, folder: URL) {
      self.service = service
      self.accessGroup = accessGroup
      lockPath = folder.appendingPathComponent("campanile-credential").path
    }

    private var query: [CFString: Any] {
      var query: [CFString: Any] = [
        kSecClass: kSecClassGenericPassword, kSecAttrService: service, kSecAttrAccount: "campanile",
        kSecUseDataProtectionKeychain: true,
      ]
      if let accessGroup { query[kSecAttrAccessGroup] = accessGroup }
      return query
    }

    public func read() throws(RPCError) -> Credential? {
      var item: CFTypeRef?
      var query = self.query
      query[kSecReturnData] = true
      let status = SecItemCopyMatching(query as CFDictionary, &item)
      if status == errSecItemNotFound { return nil }
      guard status == errSecSuccess, let data = item as? Data else { throw Self.error(status) }
      return try CredentialText.decode([UInt8](data))
    }

    public func update(_ change: (Credential?) -> Credential?) throws(RPCError) {
      let lock = try FileLock.wait(lockPath + ".lock")
      defer { withExtendedLifetime(lock) {} }
      let before = try read()
      guard let credential = change(before) else {
        let status = SecItemDelete(query as CFDictionary)
        guard status == errSecSuccess || status == errSecItemNotFound else { throw Self.error(status) }
        return
      }
      let value: [CFString: Any] = [
        kSecValueData: Data(CredentialText.encode(credential)),
        kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
      ]
      let status =
        before == nil
        ? SecItemAdd(query.merging(value) { $1 } as CFDictionary, nil)
        : SecItemUpdate(query as CFDictionary, value as CFDictionary)
      guard status == errSecSuccess else { throw Self.error(status) }
    }

    public func renewalPermit() throws(RPCError) -> (any RenewalPermit)? { try FileLock.attempt(lockPath + ".renewal") }

    private static func error(_ status: OSStatus) -> RPCError {
      FileCredentialStore.unavailable("the Keychain failed with the status \(status); unlock the device")
    }
  }
#endif
