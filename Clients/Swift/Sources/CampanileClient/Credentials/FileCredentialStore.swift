public import CampanileBase
import CampanileCodec
import Foundation

/// A credential in a file with mode 0600, for Linux and for tests.
///
/// The file is replaced atomically, so that a reader finds the old or the new credential. Two files next to it serve as
/// locks: `PATH.lock` for updates and `PATH.renewal` for renewals.
public struct FileCredentialStore: CredentialStore {
  private let path: String
  static let sizeBytesMax = 64 * 1024

  /// - Parameter path: The file, in a folder that exists and that only this user may change.
  public init(path: String) { self.path = path }

  public func read() throws(RPCError) -> Credential? {
    let bytes: [UInt8]
    do throws(PrivateFile.Failure) {
      bytes = try PrivateFile.read(path, sizeBytesMax: Self.sizeBytesMax, isPrivate: true)
    } catch {
      if case .system(.open, ENOENT) = error.cause { return nil }
      throw Self.unavailable("cannot read \(path): \(error)")
    }
    return try CredentialText.decode(bytes)
  }

  public func update(_ change: (Credential?) -> Credential?) throws(RPCError) {
    let lock = try FileLock.wait(path + ".lock")
    defer { withExtendedLifetime(lock) {} }
    guard let credential = change(try read()) else {
      guard unlink(path) == 0 || errno == ENOENT else { throw FileFailure.system("cannot remove \(path)") }
      return
    }
    do throws(PrivateFile.Failure) {
      try PrivateFile.write(CredentialText.encode(credential), to: path)
    } catch {
      throw Self.unavailable("\(error)")
    }
  }

  public func renewalPermit() throws(RPCError) -> (any RenewalPermit)? { try FileLock.attempt(path + ".renewal") }

  static func unavailable(_ what: String) -> RPCError {
    RPCError(.unavailable, what, reason: CredentialText.unavailableReason, processed: false)
  }
}

/// The JSON of a stored credential.
enum CredentialText {
  static let unavailableReason = "CREDENTIAL_UNAVAILABLE"

  static func encode(_ credential: Credential) -> [UInt8] {
    var writer = JSONWriter()
    let object = writer.beginObject()
    writer.name(",\"scheme\":")
    writer.string(credential.scheme.rawValue)
    writer.name(",\"secret\":")
    writer.string(credential.secret)
    writer.name(",\"renewalSecret\":")
    writer.string(credential.renewalSecret)
    if let expiresAtMs = credential.expiresAtMs {
      writer.name(",\"expiresAtMs\":")
      writer.int64(expiresAtMs)
    }
    writer.endObject(object)
    return writer.withUnsafeBytes { Array($0) }
  }

  /// - Throws: UNAVAILABLE `CREDENTIAL_UNAVAILABLE` if the bytes are not a credential. They are left as they are.
  static func decode(_ bytes: [UInt8]) throws(RPCError) -> Credential {
    let read = bytes.withUnsafeBytes { bytes in
      Result { () throws(ProtoJSONError) in
        var reader = JSONReader(bytes)
        return try credential(&reader)
      }
    }
    guard case .success(let credential) = read, !credential.secret.isEmpty else {
      throw FileCredentialStore.unavailable("the stored credential is damaged; log in again")
    }
    return credential
  }

  private static func credential(_ reader: inout JSONReader) throws(ProtoJSONError) -> Credential {
    var credential = Credential("")
    var more = try reader.beginObject()
    while more {
      switch try reader.stringKey() {
      case "scheme": credential.scheme = Credential.Scheme(rawValue: try reader.string()) ?? .bearer
      case "secret": credential.secret = try reader.string()
      case "renewalSecret": credential.renewalSecret = try reader.string()
      case "expiresAtMs": credential.expiresAtMs = try reader.int64()
      default: try reader.skipValue()
      }
      more = try reader.nextMember()
    }
    return credential
  }
}
