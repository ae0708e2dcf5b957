import Testing

@testable import CampanileRPC

@Suite struct InternalTokenProofTests {
  private static let token = "internal-token-of-the-proof-tests"
  private static let clientNonce = InternalTokenProof.nonce([UInt8](repeating: 1, count: 32))

  private func begin(_ token: String?) -> HelloChallenge? {
    InternalTokenAuthenticator(token: token, randomBytes: { [UInt8](repeating: 2, count: 32) })
      .challenge(nonce: Self.clientNonce)
  }

  private func hello(_ challenge: HelloChallenge) -> ServerHello {
    var hello = ServerHello()
    hello.nonce = challenge.nonce
    hello.proofs = challenge.proofs
    return hello
  }

  @Test(arguments: [Self.token, "another-token-of-the-proof-tests\n\(Self.token)"])
  func bothEndsProveTheToken(configured: String) throws {
    let challenge = try #require(begin(configured))
    let prover = HelloProver(token: Self.token, nonce: Self.clientNonce)
    let proof = try #require(prover.proof(for: hello(challenge)))
    #expect(challenge.accepts(proof))
    #expect(!challenge.accepts("") && !challenge.accepts(challenge.proofs[0]) && !challenge.accepts(proof + "A"))
  }

  @Test func impostorGetsNoProof() throws {
    let prover = HelloProver(token: Self.token, nonce: Self.clientNonce)
    let impostor = try #require(begin("a-token-that-an-impostor-made-up"))
    #expect(prover.proof(for: hello(impostor)) == nil)
    #expect(prover.proof(for: ServerHello()) == nil)
    // The proof of another connection, whose client used another nonce.
    let right = try #require(begin(Self.token))
    let other = HelloProver(token: Self.token, nonce: InternalTokenProof.nonce([UInt8](repeating: 3, count: 32)))
    #expect(other.proof(for: hello(right)) == nil)
    // The client's own proof is not accepted as the server's.
    var mirrored = hello(right)
    mirrored.proofs = [try #require(prover.proof(for: hello(right)))]
    #expect(prover.proof(for: mirrored) == nil)
  }

  @Test func serverWithoutTokenHasNoChallenge() { #expect(begin(nil) == nil && begin("") == nil) }

  @Test(arguments: ["", "short", String(repeating: "=", count: 43), String(repeating: "A", count: 44)])
  func invalidNoncesAreRejected(text: String) { #expect(!InternalTokenProof.isNonce(text)) }

  @Test func proofsMatchSpecification() {
    // Expected values from Python: hmac.new(token, b"campanile-hello-server/1\n…\n…", "sha256").
    #expect(InternalTokenProof.isNonce(Self.clientNonce))
    let server = InternalTokenProof.server(
      "0123456789abcdef0123456789abcdef", clientNonce: String(repeating: "A", count: 43),
      serverNonce: String(repeating: "A", count: 43))
    let client = InternalTokenProof.client(
      "0123456789abcdef0123456789abcdef", clientNonce: String(repeating: "A", count: 43),
      serverNonce: String(repeating: "A", count: 43))
    #expect(server == "ZZDtx3q_Enzl5HyfzAcla4ue_YdNEpVlm_1vmXjRPhE")
    #expect(client == "UvW5s-j89M91D3TyAgLR8FMi5_hlOGf-JVTu2ZGGAHg")
  }
}
