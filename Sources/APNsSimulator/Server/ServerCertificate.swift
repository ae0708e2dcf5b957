import CampanileCrypto
import NIOSSL

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The certificate of a simulator, stored in its folder. Created at the first start and renewed at a start before it
/// expires.
struct ServerCertificate: Sendable {
  /// The CA certificate for senders to trust. Its private key is never stored, so it cannot sign any other certificate.
  static let trustFile = "trust.pem"
  /// The server's certificate and the CA's.
  static let chainFile = "certificate.pem"
  static let keyFile = "key.pem"
  /// Names of a new certificate: this machine, a container, and Apple's hosts for senders redirected by a hosts file or
  /// a proxy.
  static let names = [
    "DNS:localhost", "IP:127.0.0.1", "IP:::1", "DNS:campanile-apns-simulator", "DNS:api.push.apple.com",
    "DNS:api.sandbox.push.apple.com", "DNS:api.development.push.apple.com",
    "DNS:api-manage-broadcast.push.apple.com", "DNS:api-manage-broadcast.sandbox.push.apple.com",
  ]
  static let validDays = 365
  /// Remaining days below which the certificate is renewed.
  static let renewalDays = 30

  let context: NIOSSLContext

  /// Loads the certificate in `folder` or creates one. Throws a `CertificateError` that names the file.
  init(folder: String, additionalNames: [String]) throws {
    if !Self.isUsable(folder) { try Self.make(folder, Self.names + additionalNames) }
    let chain = try NIOSSLCertificate.fromPEMFile("\(folder)/\(Self.chainFile)")
    let key = try NIOSSLPrivateKey(file: "\(folder)/\(Self.keyFile)", format: .pem)
    context = try Self.context(chain, key)
  }

  /// Returns a context whose certificate no sender trusts, because it is not stored anywhere.
  static func untrusted() throws -> NIOSSLContext {
    let made = try DevelopmentCertificate.make(commonName: "untrusted", names: names, validDays: validDays)
    return try context(
      try NIOSSLCertificate.fromPEMBytes(Array((made.certificatePEM + made.authorityPEM).utf8)),
      try NIOSSLPrivateKey(bytes: Array(made.keyPEM.utf8), format: .pem))
  }

  private static func context(_ chain: [NIOSSLCertificate], _ key: NIOSSLPrivateKey) throws -> NIOSSLContext {
    var configuration = TLSConfiguration.makeServerConfiguration(
      certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
    configuration.minimumTLSVersion = .tlsv12
    configuration.applicationProtocols = ["h2"]
    return try NIOSSLContext(configuration: configuration)
  }

  private static func isUsable(_ folder: String) -> Bool {
    guard [trustFile, keyFile].allSatisfy({ access("\(folder)/\($0)", R_OK) == 0 }),
      let leaf = try? NIOSSLCertificate.fromPEMFile("\(folder)/\(chainFile)").first
    else { return false }
    return Int(leaf.notValidAfter) > Int(Date().timeIntervalSince1970) + renewalDays * 86_400
  }

  private static func make(_ folder: String, _ names: [String]) throws {
    let made = try DevelopmentCertificate.make(
      commonName: "Campanile APNs simulator", names: names, validDays: validDays)
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    try write(made.keyPEM, "\(folder)/\(keyFile)", mode: 0o600)
    try write(made.certificatePEM + made.authorityPEM, "\(folder)/\(chainFile)", mode: 0o644)
    try write(made.authorityPEM, "\(folder)/\(trustFile)", mode: 0o644)
  }

  private static func write(_ text: String, _ path: String, mode: mode_t) throws(CertificateError) {
    let temporary = path + ".new"
    unlink(temporary)
    let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
    guard descriptor >= 0 else { throw CertificateError(path) }
    let bytes = Array(text.utf8)
    let count = bytes.withUnsafeBytes { systemWrite(descriptor, $0) }
    let isWritten = count == bytes.count && fsync(descriptor) == 0
    close(descriptor)
    guard isWritten, rename(temporary, path) == 0 else { throw CertificateError(path) }
  }
}

/// A certificate file could not be written.
struct CertificateError: Error, Sendable, Hashable, CustomStringConvertible {
  var description: String
  fileprivate init(_ path: String) { description = "cannot write \(path): \(String(cString: strerror(errno)))" }
}

/// The system's `write`, under a name that no member hides.
private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
  write(descriptor, bytes.baseAddress, bytes.count)
}
