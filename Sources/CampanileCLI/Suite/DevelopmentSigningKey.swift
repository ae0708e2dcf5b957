import CampanileBase
internal import CampanileCrypto
internal import Foundation

/// The APNs signing key of a suite on one machine.
///
/// Apple does not know this key. Only the simulator and servers configured with its public key accept its signatures.
enum DevelopmentSigningKey {
  static let teamID = "CAMPANILE1"
  static let keyID = "DEVELOPKEY"
  /// The topic of the example app; the key is valid for every app.
  static let topic = "dev.campanile.example"

  /// Returns the folder with the public keys, which the simulator reads.
  static func publicFolder(_ folder: String) -> String { folder + "/public" }

  /// Creates the key in `folder` if it is missing.
  ///
  /// The private key is `AuthKey_KEYID.p8` with mode 0600, next to `AuthKey_KEYID.json`. The public key is in the
  /// subfolder `public`.
  ///
  /// - Returns: The key's entry for `endpoints.json`.
  /// - Throws: `UsageError` if a folder cannot be created or the key cannot be used; `PrivateFile.Failure` if a file
  ///   cannot be written.
  static func ensure(_ folder: String) throws -> Endpoints.APNs {
    try PrivateFolder.make(folder)
    try PrivateFolder.make(publicFolder(folder))
    let path = "\(folder)/AuthKey_\(keyID).p8"
    let key: ES256PrivateKey
    do {
      if FileManager.default.fileExists(atPath: path) {
        key = try ES256PrivateKey(path: path)
      } else {
        key = try ES256PrivateKey.generate()
        try PrivateFile.write(Data(try key.privatePEM()), to: path)
      }
    } catch let error as CryptoError {
      throw UsageError(error.message)
    }
    let apns = Endpoints.APNs(teamId: teamID, keyId: keyID, publicKeyPem: key.publicKey.pem, topic: topic)
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    try PrivateFile.write(try encoder.encode(apns), to: "\(publicFolder(folder))/\(keyID).json")
    try PrivateFile.write(
      try encoder.encode(["teamId": teamID, "keyId": keyID]), to: "\(folder)/AuthKey_\(keyID).json")
    return apns
  }
}
