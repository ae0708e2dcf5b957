import APNs
import CampanileCrypto
import CampanileServer
import NIOPosix
import Testing

@testable import APNsSimulator

@Suite struct ControlTests {
  private func api(_ bench: Bench, token: String? = nil) throws -> ControlAPI {
    let tls = try ServerCertificate.untrusted()
    let server = APNsServer(
      simulator: bench.simulator, tls: tls, untrustedTLS: tls, group: MultiThreadedEventLoopGroup.singleton)
    return ControlAPI(simulator: bench.simulator, server: server, token: token)
  }

  private func ask(
    _ api: ControlAPI, _ method: String, _ path: String, _ body: String = "", query: [String: String] = [:],
    authorization: String? = nil
  ) -> (status: Int, body: String) {
    let response = api.answer(
      AdminRoutes.Request(
        method: method, path: "/v1" + path, query: query, authorization: authorization, body: Array(body.utf8)))
    return (response.status, String(decoding: response.body.dropLast(), as: UTF8.self))
  }

  @Test func faultsAreAddedListedAndRemoved() throws {
    let bench = try Bench()
    let api = try api(bench)
    #expect(
      ask(api, "POST", "/faults", #"{"action":"answer","reason":"ServiceUnavailable","count":1,"retryAfterSeconds":2}"#)
        == (200, #"{"id":1}"#))
    #expect(try bench.push("{}").text == "503 ServiceUnavailable")
    #expect(
      ask(api, "GET", "/faults").body
        == #"{"faults":[{"id":1,"action":"answer","every":1,"probability":1.0,"remaining":0,"matched":1,"applied":1}]}"#
    )
    #expect(ask(api, "DELETE", "/faults/1").status == 200)
    #expect(ask(api, "DELETE", "/faults/1").status == 404)
    #expect(ask(api, "POST", "/faults", #"{"action":"goaway","every":100}"#).body == #"{"id":2}"#)
    #expect(ask(api, "DELETE", "/faults").status == 200)
    #expect(ask(api, "GET", "/faults").body == #"{"faults":[]}"#)
  }

  @Test(arguments: [
    "", "[]", "{", #"{"action":"explode"}"#, #"{"action":"answer"}"#, #"{"action":"answer","reason":"Mine"}"#,
    #"{"action":"goaway","evry":3}"#, #"{"action":"goaway","every":0}"#, #"{"action":"goaway","probability":1.5}"#,
    #"{"action":"goaway","match":{"topics":"x"}}"#, #"{"action":"delay","minMs":5,"maxMs":4}"#,
    #"{"action":"goaway","action":5}"#, #"{"action":"goaway"} x"#,
  ])
  func invalidFaultsAreRejected(body: String) throws {
    let bench = try Bench()
    let api = try api(bench)
    let answer = ask(api, "POST", "/faults", body)
    #expect(answer.status == 400)
    #expect(answer.body.contains("INVALID_ARGUMENT"))
    #expect(ask(api, "GET", "/faults").body == #"{"faults":[]}"#)
  }

  @Test func faultsAreBounded() throws {
    let bench = try Bench()
    let api = try api(bench)
    for _ in 0..<64 { #expect(ask(api, "POST", "/faults", #"{"action":"goaway"}"#).status == 200) }
    #expect(ask(api, "POST", "/faults", #"{"action":"goaway"}"#).status == 409)
  }

  @Test func tokensAreRegisteredRejectedAndDeleted() throws {
    let bench = try Bench()
    let api = try api(bench)
    #expect(
      ask(api, "POST", "/tokens", #"{"token":"ABCD","bundleId":"com.example.growth","kind":"activity"}"#).status == 200)
    #expect(try bench.push(bench.update("{}", at: 1), to: "abcd").text == "200")
    #expect(ask(api, "POST", "/tokens/abcd/reject", #"{"timestampMs":1700000000123}"#).status == 200)
    let outcome = try bench.push(bench.update("{}", at: 2), to: "abcd")
    #expect(outcome.text == "410 Unregistered")
    #expect(outcome.answer?.refusal?.timestampMs == 1_700_000_000_123)
    #expect(ask(api, "POST", "/tokens/abcd/reject", #"{"reason":"ExpiredToken"}"#).status == 200)
    #expect(try bench.push(bench.update("{}", at: 2), to: "abcd").text == "410 ExpiredToken")
    #expect(ask(api, "GET", "/tokens/abcd").body.contains(#""rejectedReason":"ExpiredToken""#))
    #expect(ask(api, "DELETE", "/tokens/abcd").status == 200)
    #expect(ask(api, "GET", "/tokens/abcd").status == 404)
    #expect(ask(api, "POST", "/tokens/abcd/reject").status == 404)
    for wrong in [#"{"token":"xyz","bundleId":"a"}"#, #"{"token":"ab","bundleId":""}"#, #"{"token":"ab","kind":"x"}"#] {
      #expect(ask(api, "POST", "/tokens", wrong).status == 400)
    }
    #expect(ask(api, "GET", "/tokens/xyz").status == 400)
  }

  @Test func tokenIsValidUntilItsRejectionTime() throws {
    let bench = try Bench()
    let api = try api(bench)
    #expect(try bench.push(bench.update("{}", at: 1), to: "abcd").text == "200")
    #expect(ask(api, "POST", "/tokens/abcd/reject", #"{"timestampMs":\#(nowMs + 5000)}"#).status == 200)
    #expect(try bench.push(bench.update("{}", at: 2), to: "abcd").text == "200")
    bench.advance(seconds: 5)
    #expect(try bench.push(bench.update("{}", at: 3), to: "abcd").text == "410 Unregistered")
  }

  @Test func senderMayRenewAfterAnExpiredTokenResponse() throws {
    for scope in TokenRenewalScope.allCases {
      var limits = SimulatorLimits()
      limits.tokenRenewalScope = scope
      let bench = try Bench(limits)
      let api = try api(bench)
      #expect(try bench.push(bench.update("{}", at: 1)).text == "200")
      bench.advance(seconds: 60)
      let renewed = try bench.authorization()
      #expect(try bench.push("{}", authorization: renewed).text == "429 TooManyProviderTokenUpdates")
      #expect(
        ask(api, "POST", "/faults", #"{"action":"answer","reason":"ExpiredProviderToken","count":1}"#).status == 200)
      #expect(try bench.push(bench.update("{}", at: 2)).text == "403 ExpiredProviderToken")
      #expect(try bench.push(bench.update("{}", at: 2), authorization: renewed).text == "200")
    }
  }

  @Test func screensAreReturnedInPages() throws {
    let bench = try Bench()
    let api = try api(bench)
    for token in ["aa", "bb", "cc"] { _ = try bench.push(bench.update(#"{"t":"\#(token)"}"#, at: 1), to: token) }
    #expect(ask(api, "GET", "/screens", query: ["key": "bb"]).body.contains(#""contentState":{"t":"bb"}"#))
    #expect(ask(api, "GET", "/screens", query: ["key": "dd"]).status == 404)
    let page = ask(api, "GET", "/screens", query: ["limit": "2"]).body
    #expect(page.contains(#""key":"bb""#))
    #expect(page.hasSuffix(#""next":"bb"}"#))
    let rest = ask(api, "GET", "/screens", query: ["limit": "2", "after": "bb"]).body
    #expect(rest.contains(#""key":"cc""#))
    #expect(!rest.contains("next"))
    #expect(ask(api, "GET", "/screens", query: ["limit": "0"]).status == 400)
  }

  @Test func keysAreAddedAndRemoved() throws {
    let bench = try Bench()
    let api = try api(bench)
    let pem = try ES256PrivateKey.generate().publicKey.pem.replacing("\n", with: "\\n")
    #expect(
      ask(api, "POST", "/keys", #"{"teamId":"TEAM123456","keyId":"NEWKEY1234","publicKeyPem":"\#(pem)","topic":"a.b"}"#)
        .status == 200)
    #expect(ask(api, "GET", "/keys").body.contains("NEWKEY1234"))
    #expect(ask(api, "DELETE", "/keys/NEWKEY1234").status == 200)
    #expect(ask(api, "DELETE", "/keys/NEWKEY1234").status == 404)
    #expect(ask(api, "POST", "/keys", #"{"teamId":"T","keyId":"K","publicKeyPem":"x"}"#).status == 400)
    #expect(ask(api, "POST", "/keys", #"{"teamId":"T"}"#).status == 400)
  }

  @Test func settingsAreChanged() throws {
    let bench = try Bench()
    let api = try api(bench)
    #expect(
      ask(
        api, "PATCH", "/settings",
        #"{"tokenRenewalScope":"key","tlsFault":"refuse","registeredTokensOnly":true,"updatesPerHour":7}"#
      ).body
        == #"{"tokenRenewalScope":"key","tokenRenewalMs":1200000,"registeredTokensOnly":true,"updatesPerHour":7,"backgroundsPerHour":0,"tlsFault":"refuse"}"#
    )
    #expect(ask(api, "PATCH", "/settings", #"{"backgroundsPerHour":-1}"#).status == 400)
    #expect(ask(api, "PATCH", "/settings", #"{"tlsFault":"maybe"}"#).status == 400)
    #expect(try bench.push(bench.update("{}", at: 1)).text == "400 BadDeviceToken")
  }

  @Test func statisticsAndPushesReportOutcomes() throws {
    let bench = try Bench()
    let api = try api(bench)
    _ = try bench.push(bench.update("{}", at: 1))
    _ = try bench.push("{}", pushType: "pause")
    let statistics = ask(api, "GET", "/statistics").body
    #expect(statistics.contains(#""answers":{"200":1,"400 InvalidPushType":1}"#))
    let pushes = ask(api, "GET", "/pushes", query: ["after": "1"]).body
    #expect(pushes.contains(#""reason":"InvalidPushType""#))
    #expect(pushes.contains(#""lastSequence":2"#))
    #expect(!pushes.contains(#""sequence":1,"#))
    #expect(ask(api, "GET", "/pushes", query: ["after": "-1"]).status == 400)
    #expect(ask(api, "POST", "/reset").status == 200)
    #expect(ask(api, "GET", "/statistics").body.contains(#""requests":0"#))
  }

  @Test func configuredTokenIsRequired() throws {
    let bench = try Bench()
    let api = try api(bench, token: "secret")
    for wrong in [nil, "", "secret", "Bearer ", "Bearer other", "Bearer secret2"] {
      #expect(ask(api, "GET", "/statistics", authorization: wrong).status == 401)
    }
    #expect(ask(api, "GET", "/statistics", authorization: "bearer secret").status == 200)
  }

  @Test func unknownPathsAreNotFound() throws {
    let api = try api(try Bench())
    for (method, path) in [
      ("GET", ""), ("GET", "/nothing"), ("PUT", "/faults"), ("POST", "/connections/explode"), ("GET", "/faults/1/2"),
    ] {
      #expect(ask(api, method, path).status == 404)
    }
  }
}
