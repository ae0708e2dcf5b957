// A stand-in for Apple's framework: a Keychain in memory with the functions that this package uses.
import Foundation

public typealias CFString = String
public typealias CFDictionary = [String: Any]
public typealias CFTypeRef = Any
public typealias OSStatus = Int32

public let kSecClass = "class"
public let kSecClassGenericPassword = "genp"
public let kSecAttrService = "svce"
public let kSecAttrAccount = "acct"
public let kSecAttrAccessGroup = "agrp"
public let kSecUseDataProtectionKeychain = "nleg"
public let kSecReturnData = "r_Data"
public let kSecValueData = "v_Data"
public let kSecAttrAccessible = "pdmn"
public let kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly = "cku"
public let errSecSuccess: OSStatus = 0
public let errSecDuplicateItem: OSStatus = -25299
public let errSecItemNotFound: OSStatus = -25300
public let errSecInteractionNotAllowed: OSStatus = -25308

/// The items, by service, account and access group.
public final class Keychain: @unchecked Sendable {
  public static let shared = Keychain()
  private let lock = NSLock()
  fileprivate var items: [String: Data] = [:]
  /// For tests: whether the device is locked.
  public var isLocked = false

  fileprivate func access(
    _ query: CFDictionary, _ body: (inout [String: Data], String) -> OSStatus
  ) -> OSStatus {
    lock.withLock {
      guard !isLocked else { return errSecInteractionNotAllowed }
      let key = [kSecAttrService, kSecAttrAccount, kSecAttrAccessGroup].map { query[$0] as? String ?? "" }
      return body(&items, key.joined(separator: "/"))
    }
  }
}

public func SecItemCopyMatching(_ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
  Keychain.shared.access(query) { items, key in
    guard let data = items[key] else { return errSecItemNotFound }
    result?.pointee = data
    return errSecSuccess
  }
}

public func SecItemAdd(_ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
  Keychain.shared.access(attributes) { items, key in
    guard items[key] == nil else { return errSecDuplicateItem }
    items[key] = attributes[kSecValueData] as? Data
    return errSecSuccess
  }
}

public func SecItemUpdate(_ query: CFDictionary, _ attributes: CFDictionary) -> OSStatus {
  Keychain.shared.access(query) { items, key in
    guard items[key] != nil else { return errSecItemNotFound }
    items[key] = attributes[kSecValueData] as? Data
    return errSecSuccess
  }
}

public func SecItemDelete(_ query: CFDictionary) -> OSStatus {
  Keychain.shared.access(query) { items, key in
    items.removeValue(forKey: key) == nil ? errSecItemNotFound : errSecSuccess
  }
}
