import CampanileBase
import CampanileCrypto

/// The proofs with which both ends of a connection show that they know the internal token, without sending it.
///
/// A proof is an HMAC-SHA-256 keyed with the token, in base64url without padding. Its message consists of the sender's
/// label and both nonces, one per line. An impostor of the server does not learn the token. It can still relay the
/// exchange to a real server; TLS prevents that.
package enum InternalTokenProof {
  package static let nonceSizeBytes = 32
  /// The length of a nonce and of a proof, as text.
  static let textLength = 43

  /// Returns random bytes for `nonce(_:)`, or nil if the system has none.
  @Sendable package static func randomBytes() -> [UInt8]? { try? SecureRandom.bytes(nonceSizeBytes) }

  package static func nonce(_ bytes: [UInt8]) -> String { Base64URL.encode(bytes) }

  /// Returns whether a peer's text is a valid nonce.
  static func isNonce(_ text: String) -> Bool {
    text.utf8.count == textLength && Base64URL.decode(text)?.count == nonceSizeBytes
  }

  /// Returns the server's proof; nil if the token is too long for a key.
  package static func server(_ token: String, clientNonce: String, serverNonce: String) -> String? {
    proof("campanile-hello-server/1", token, clientNonce, serverNonce)
  }

  /// Returns the client's proof; nil if the token is too long for a key.
  package static func client(_ token: String, clientNonce: String, serverNonce: String) -> String? {
    proof("campanile-hello-client/1", token, clientNonce, serverNonce)
  }

  private static func proof(_ sender: String, _ token: String, _ clientNonce: String, _ serverNonce: String) -> String?
  {
    let code = try? HMACSHA256.code(Array("\(sender)\n\(clientNonce)\n\(serverNonce)".utf8), key: Array(token.utf8))
    return code.map { Base64URL.encode($0.bytes) }
  }

  /// Compares two proofs in constant time.
  static func isEqual(_ a: String, _ b: String) -> Bool { ConstantTime.equal(Array(a.utf8), Array(b.utf8)) }
}

/// A server's half of the exchange on one connection: its own proofs, and the client's proofs that it accepts.
public struct HelloChallenge: Sendable {
  let nonce: String
  /// One proof for each token that the server accepts, because it does not know which one the client has.
  let proofs: [String]
  private let accepted: [String]

  /// Creates a challenge; nil if there is no token.
  init?(tokens: [String], clientNonce: String, serverNonce: String) {
    nonce = serverNonce
    proofs = tokens.compactMap {
      InternalTokenProof.server($0, clientNonce: clientNonce, serverNonce: serverNonce)
    }
    accepted = tokens.compactMap {
      InternalTokenProof.client($0, clientNonce: clientNonce, serverNonce: serverNonce)
    }
    if accepted.isEmpty { return nil }
  }

  /// Returns whether the client has proved that it knows a token.
  func accepts(_ proof: String) -> Bool {
    // All are compared, so that the time does not reveal which token matched.
    accepted.reduce(false) { InternalTokenProof.isEqual($1, proof) || $0 }
  }
}

/// A client's half of the exchange on one connection.
struct HelloProver {
  let token: String
  let nonce: String

  /// Returns the client's proof if the server has proved that it knows the token; nil otherwise.
  func proof(for hello: ServerHello) -> String? {
    guard let serverNonce = hello.nonce, InternalTokenProof.isNonce(serverNonce),
      let expected = InternalTokenProof.server(token, clientNonce: nonce, serverNonce: serverNonce),
      hello.proofs.contains(where: { InternalTokenProof.isEqual($0, expected) })
    else { return nil }
    return InternalTokenProof.client(token, clientNonce: nonce, serverNonce: serverNonce)
  }
}
