internal import CampanileCrypto
internal import Foundation

/// The signing key that a suite on one machine pushes with. It is no key of Apple's: only the simulator, and servers that are
/// told its public half, take what it signs.
enum DevelopmentSigningKey {
  static let teamID = "CAMPANILE1"
  static let keyID = "DEVELOPKEY"
  /// The app of examples; the key is for every app.
  static let topic = "dev.campanile.example"

  /// The folder of the public halves, as the simulator reads it.
  static func publicFolder(_ folder: String) -> String { folder + "/public" }

  /// Makes the key in `folder` where it is missing: `AuthKey_KEYID.p8` with mode 0600, `AuthKey_KEYID.json` beside it, and
  /// the public half in a folder of its own. Answers what `endpoints.json` tells of it.
  ///
  /// Throws `UsageError` when the files cannot be used.
  static func ensure(_ folder: String) throws -> Endpoints.APNs {
    try PrivateFile.makeFolder(folder)
    try PrivateFile.makeFolder(publicFolder(folder))
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
