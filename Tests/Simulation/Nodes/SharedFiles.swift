import CampanileCrypto
import Foundation

/// Files shared by all runs of one process: signing keys, a certificate, and databases that were migrated once.
package final class SharedFiles: Sendable {
  let folder: String
  var keysFolder: String { "\(folder)/keys" }
  var trustFile: String { "\(folder)/trust.pem" }

  package init() throws {
    let memory = "/dev/shm"
    let base = FileManager.default.isWritableFile(atPath: memory) ? memory : FileManager.default.temporaryDirectory.path
    folder = "\(base)/campanile-simulation-\(UUID().uuidString)"
    try FileManager.default.createDirectory(
      atPath: folder + "/keys", withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    try write(try ES256PrivateKey.generate().privatePEM(), "\(keysFolder)/AuthKey_KEY1111111.p8")
    try write(Array(Self.certificate.utf8), trustFile)
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  private func write(_ bytes: [UInt8], _ path: String) throws {
    guard
      FileManager.default.createFile(
        atPath: path, contents: Data(bytes), attributes: [.posixPermissions: 0o600])
    else { throw CocoaError(.fileWriteUnknown) }
  }

  /// Creates a folder for one run, with the databases stored by `keep`.
  func runFolder(_ seed: UInt64) throws -> String {
    let path = "\(folder)/run-\(seed)-\(UUID().uuidString)"
    let kept = "\(folder)/migrated"
    if FileManager.default.fileExists(atPath: kept) {
      try FileManager.default.copyItem(atPath: kept, toPath: path)
    } else {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }
    return path
  }

  /// Stores the files of a finished run as the initial files of later runs.
  func keep(_ runFolder: String) throws {
    try FileManager.default.moveItem(atPath: runFolder, toPath: "\(folder)/migrated")
  }

  /// Not trusted by anything: it replaces the system's certificates, which take long to read.
  private static let certificate = """
    -----BEGIN CERTIFICATE-----
    MIIBgDCCASegAwIBAgIUQ/t8Ya6jltdtDb2N9Xm2XoMsYEYwCgYIKoZIzj0EAwIw
    FTETMBEGA1UEAwwKc2ltdWxhdGlvbjAgFw0yNjExMjIwODEwMzhaGA8yMTI2MTAy
    OTA4MTAzOFowFTETMBEGA1UEAwwKc2ltdWxhdGlvbjBZMBMGByqGSM49AgEGCCqG
    SM49AwEHA0IABEvDjQjt6XpKq43r2XQsTlDRwWTy1JQR6ZyYtIpaDbyqt8ECqBvo
    WFpYvdoHeKOiTBAqPYxtjLW5XoV5sCIhsxajUzBRMB0GA1UdDgQWBBS1zJUvUa4t
    Y7H2UGNOygzHGqk6TjAfBgNVHSMEGDAWgBS1zJUvUa4tY7H2UGNOygzHGqk6TjAP
    BgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0cAMEQCIFn1I9qXf//EDIkONiUw
    z7hvcETUedzSGGBtDTcoSrdeAiBksVYXhHGJ69acNJC7BVUFU3jW85ks2kVDyazf
    GoJ6tQ==
    -----END CERTIFICATE-----

    """
}
