import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileCrypto
import CampanileRPC
import Foundation
import Logging
import TestSupport
import Testing

@testable import Gateway

/// Tokens of an issuer, judged without a connection.
@Suite struct TokenTests {
  private let keys: TokenKeySet
  private let services = ["notifications", "sync"]
  private let policy = TokenPolicy(keySetFile: "", issuer: TokenFixtures.issuer, audiences: ["campanile", "spare"])

  init() throws { keys = try TokenKeySet(Array(TokenFixtures.keySet.utf8), source: "test") }

  private func judge(_ name: String, nowMs: Int64 = TokenFixtures.nowMs) -> Result<TokenPolicy.Grant, TokenFault> {
    do throws(TokenFault) {
      let token = try JSONWebToken(TokenFixtures.tokens[name] ?? "")
      _ = try keys.verify(token)
      return .success(try policy.grant(token.claims, services: services, nowMs: nowMs))
    } catch { return .failure(error) }
  }

  @Test(arguments: ["rs256", "es256", "audienceList"])
  func validTokensNameTheirUser(name: String) throws {
    let grant = try judge(name).get()
    #expect(grant.principal == Principal(kind: .user, id: "ada"))
    #expect(grant.scopes.isEmpty)
    #expect(grant.expiresAtMs == TokenFixtures.nowMs + 3_600_000 + policy.leewayMs)
  }

  @Test(arguments: [
    ("none", TokenFault.algorithmNotAllowed), ("noneWithKid", .algorithmNotAllowed),
    ("hs256WithPublicKey", .algorithmNotAllowed), ("hs256Empty", .algorithmNotAllowed),
    ("algOfOtherKey", .algorithmNotAllowed), ("rs512", .algorithmNotAllowed),
    ("otherKey", .signatureInvalid), ("swappedClaims", .signatureInvalid), ("noSignature", .signatureInvalid),
    ("rotated", .signatureInvalid), ("unknownKid", .keyUnknown), ("noKid", .keyUnknown), ("critical", .malformed),
    ("expired", .expired), ("later", .notYetValid), ("wrongAudience", .audienceWrong), ("noAudience", .audienceWrong),
    ("wrongIssuer", .issuerWrong), ("noExpiry", .malformed), ("noSubject", .subjectInvalid),
    ("badSubject", .subjectInvalid),
  ])
  func invalidTokensAreRefusedWithTheirFault(name: String, fault: TokenFault) {
    #expect(throws: fault) { try judge(name).get() }
  }

  @Test(arguments: ["", ".", "..", "a.b.c", "e30.e30", "e30.e30.e30.e30", "e30.W10.AA", "bnVsbA.e30.AA"])
  func malformedTokensAreRefused(text: String) {
    #expect(throws: TokenFault.malformed) { try JSONWebToken(text) }
  }

  private func unsigned(_ header: String, _ claims: String) throws(TokenFault) -> JSONWebToken {
    try JSONWebToken("\(Base64URL.encode(Array(header.utf8))).\(Base64URL.encode(Array(claims.utf8))).AA")
  }

  @Test(
    "a token with duplicate names or malformed JSON is refused",
    arguments: [
      (#"{"alg":"RS256"}"#, #"{"sub":"ada","sub":"root"}"#), (#"{"alg":"RS256","alg":"none"}"#, #"{"sub":"ada"}"#),
      (#"{"alg":"RS256"}"#, #"{"sub":"ada","s\u0075b":"root"}"#),
      (#"{"alg":"RS256"}"#, #"{"sub":"ada","x":[{"a":1,"a":2}]}"#), (#"{"alg":"RS256"}"#, #"{"sub":"ada"} {}"#),
      (#"{"alg":"RS256"}"#, #"{"exp":1e400}"#),
    ])
  func ambiguousTokensAreRefused(header: String, claims: String) {
    #expect(throws: TokenFault.malformed) { try unsigned(header, claims) }
  }

  @Test(
    "an expected type excludes other tokens of the issuer",
    arguments: [
      (nil, false), ("JWT", false), ("at+jwt", true), ("AT+JWT", true), ("application/at+jwt", true), ("id+jwt", false),
    ])
  func typesAreJudged(type: String?, isAccessToken: Bool) throws {
    let claims = #"{"iss":"\#(TokenFixtures.issuer)","aud":"campanile","sub":"ada","exp":2000003600}"#
    let token = try unsigned(type.map { #"{"alg":"RS256","typ":"\#($0)"}"# } ?? #"{"alg":"RS256"}"#, claims)
    var strict = policy
    strict.type = "at+jwt"
    func judge(_ policy: TokenPolicy) throws(TokenFault) -> TokenPolicy.Grant {
      try policy.grant(token, services: services, nowMs: TokenFixtures.nowMs)
    }
    if isAccessToken { _ = try judge(strict) } else { #expect(throws: TokenFault.typeWrong) { try judge(strict) } }
    #expect(try judge(policy).principal.name == "user/ada")
  }

  @Test func subjectsGetThePrefixOfTheirIssuer() throws {
    var prefixed = policy
    prefixed.subjectPrefix = "example:"
    let claims = try JSONWebToken(TokenFixtures.tokens["rs256"] ?? "").claims
    let grant = try prefixed.grant(claims, services: services, nowMs: TokenFixtures.nowMs)
    #expect(grant.principal.name == "user/example:ada")
  }

  @Test(
    "a token may be bound to a device",
    arguments: [
      (#""watch""#, "watch"), (#""""#, nil), (#""a b""#, nil), (#""a@b""#, nil), ("7", nil), ("null", ""),
    ] as [(String, String?)])
  func tokensAreBoundToADevice(value: String, device: String?) throws {
    let claims =
      #"{"iss":"\#(TokenFixtures.issuer)","aud":"campanile","sub":"ada","exp":2000003600,"campanile_device":\#(value)}"#
    func judge() throws(TokenFault) -> TokenPolicy.Grant {
      try policy.grant(
        try unsigned(#"{"alg":"RS256"}"#, claims), services: services, nowMs: TokenFixtures.nowMs)
    }
    guard let device else {
      #expect(throws: TokenFault.self) { try judge() }
      return
    }
    #expect(try judge().principal == Principal(kind: .user, id: "ada", deviceID: device))
  }

  @Test func longTokensAreRefused() {
    let long = "e30." + String(repeating: "A", count: JSONWebToken.sizeBytesMax) + ".AA"
    #expect(throws: TokenFault.malformed) { try JSONWebToken(long) }
  }

  @Test func leewayToleratesClockDifferences() throws {
    #expect(try judge("justExpired").get().principal.id == "ada")
    #expect(throws: TokenFault.expired) {
      try judge("justExpired", nowMs: TokenFixtures.nowMs + 20_000).get()
    }
    #expect(try judge("later", nowMs: TokenFixtures.nowMs + 570_000).get().principal.id == "ada")
    #expect(throws: TokenFault.notYetValid) { try judge("later", nowMs: TokenFixtures.nowMs + 569_999).get() }
  }

  @Test func onlyScopesOfTheSuiteAreGranted() throws {
    #expect(try judge("scoped").get().scopes.map(\.description) == ["notifications:read"])
    #expect(try judge("scopedList").get().scopes.map(\.description) == ["sync:write"])
    // A token with unknown scopes only grants nothing, whereas one without scopes would grant every service.
    let foreign = AccessRights(try judge("foreignScopes").get().scopes, services: ["notifications"])
    #expect(!foreign.allows(Requirement(kind: .read)) && !foreign.allows(Requirement(kind: .admin)))
    #expect(try judge("adminScope").get().scopes.map(\.description) == ["notifications:read"])
    var trusting = policy
    trusting.allowsAdmin = true
    let claims = try JSONWebToken(TokenFixtures.tokens["adminScope"] ?? "").claims
    let scopes = try trusting.grant(claims, services: services, nowMs: TokenFixtures.nowMs).scopes
    #expect(scopes.map(\.description) == ["admin", "notifications:read"])
  }

  @Test func singleKeyNeedsNoKeyID() throws {
    let one = try TokenKeySet(Array(TokenFixtures.oneKey.utf8), source: "test")
    _ = try one.verify(try JSONWebToken(TokenFixtures.tokens["noKid"] ?? ""))
    #expect(throws: TokenFault.keyUnknown) {
      try one.verify(try JSONWebToken(TokenFixtures.tokens["unknownKid"] ?? ""))
    }
  }

  @Test func unsupportedKeysAreIgnored() { #expect(Set(keys.signers.keys) == ["rsa", "ec"]) }

  @Test(arguments: [
    "", "[]", "{}", #"{"keys":[]}"#, #"{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}"#,
    #"{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"}]}"#, #"{"keys":[{"kty":"RSA","n":"!","e":"AQAB"}]}"#,
    #"{"keys":[{"kty":"RSA","e":"AQAB"}]}"#, #"{"keys":[{"kty":"EC","crv":"P-256","x":"AAAA","y":"AAAA"}]}"#,
    #"{"keys":[{"kty":"EC","crv":"P-256","x":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","y":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}]}"#,
    TokenFixtures.smallKeySet,
  ])
  func invalidKeySetsAreRefused(text: String) {
    #expect(throws: CryptoError.self) { try TokenKeySet(Array(text.utf8), source: "test") }
  }

  @Test func duplicateKeyIDsAreRefused() throws {
    let one = TokenFixtures.oneKey.trimmingCharacters(in: .whitespacesAndNewlines)
    let key = one.dropFirst(one.prefix { $0 != "[" }.count + 1).dropLast(2)
    #expect(throws: CryptoError.self) { try TokenKeySet(Array("{\"keys\":[\(key),\(key)]}".utf8), source: "test") }
  }

  // MARK: through the authority

  @Test func authorityCachesTokensAndFollowsItsKeySet() throws {
    let folder = try TemporaryFolder()
    let file = folder.file("jwks.json")
    try TokenFixtures.keySet.write(toFile: file, atomically: true, encoding: .utf8)
    let clock = TestClock(TokenFixtures.nowMs)
    var policy = self.policy
    policy.keySetFile = file
    policy.checkedTokensMax = 2
    var logger = Logger(label: "test")
    logger.logLevel = .critical
    let authority = TokenAuthority(
      policy, ring: KeyRing(services: ["notifications"], nowMs: { clock.nowMs }), logger: logger)
    #expect(try authority.reload())
    #expect(try !authority.reload())
    func authenticate(_ name: String) -> Result<Credential, RPCError> {
      let token = TokenFixtures.tokens[name] ?? ""
      return authority.checked(token) ?? authority.check(token)
    }
    let first = try authenticate("rs256").get()
    #expect(try authenticate("rs256").get() === first)
    #expect(first.id.hasPrefix("j_") && first.principal.name == "user/ada")
    for name in ["es256", "scoped", "audienceList", "adminScope"] { _ = try authenticate(name).get() }
    #expect(authority.checkedCount <= 2)
    let byEC = try authenticate("es256").get()

    // The RSA key was replaced: its tokens are revoked, and those of the other key remain valid.
    try TokenFixtures.rotatedKeySet.write(toFile: file, atomically: true, encoding: .utf8)
    #expect(try authority.reload())
    #expect(first.fault(nowMs: { clock.nowMs })?.reason == "CREDENTIAL_REVOKED")
    #expect(throws: CredentialFault.invalid) { try authenticate("rs256").get() }
    #expect(try authenticate("rotated").get().principal.id == "ada")
    #expect(byEC.fault(nowMs: { clock.nowMs }) == nil)

    // A malformed file changes nothing.
    try "{".write(toFile: file, atomically: true, encoding: .utf8)
    #expect(throws: CryptoError.self) { try authority.reload() }
    #expect(try authenticate("rotated").get().principal.id == "ada")

    clock.nowMs = TokenFixtures.nowMs + 3_600_000 + policy.leewayMs
    #expect(throws: CredentialFault.expired) { try authenticate("rotated").get() }
  }
}
