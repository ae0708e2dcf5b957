import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import Gateway

/// Serves the two addresses of a sign-in at the token issuer, to which browsers navigate. `issuer` sends them to the
/// issuer's page, which sends them back to `issuer/callback`.
///
/// Both respond with a redirection. A failure leads to the console with its reason in the fragment, `#issuer=REASON`.
struct ConsoleIssuerPages: HTTPDialect {
  let console: ConsoleFrontend
  let issuer: IssuerSignIn

  func plan(_ request: RequestHead, segments: [Substring]) throws(RPCError) -> DialectPlan? {
    let beginPath = console.path + "/issuer"
    let isReturn = request.path == beginPath + "/callback"
    guard isReturn || request.path == beginPath else { return nil }
    let authorization = request["authorization"]
    guard request.method == "GET" else { return .unserved(allowed: ["GET"], authorization) { .rest($0) } }
    let (fields, secret) = (Self.fields(request.query), cookie.value(in: request.headers))
    return DialectPlan(
      access: .open, takesBody: false, authorization: authorization, failure: { .rest($0) }
    ) { _, calls in
      isReturn ? await finish(fields, secret, calls) : await begin(calls)
    }
  }

  /// The cookie of a sign-in. The issuer's page leads back here from another site, which `Lax` allows.
  private var cookie: CookieFormat {
    CookieFormat(
      plainName: "campanile_console_issuer", isSecure: issuer.configuration.consoleURL.hasPrefix("https:"),
      sameSite: "Lax")
  }

  /// Returns the parameters of a query; none if it is malformed or repeats one, which RFC 6749 section 3.1 forbids.
  private static func fields(_ query: Substring) -> [String: String] {
    let parameters = (try? QueryText(query))?.parameters ?? []
    guard Set(parameters.map(\.name)).count == parameters.count else { return [:] }
    return Dictionary(uniqueKeysWithValues: parameters.map { ($0.name, $0.value) })
  }

  private func begin(_ calls: InnerCalls) async -> DialectAnswer {
    do throws(RPCError) {
      let (location, secret) = try await issuer.begin()
      return redirection(location, cookie.header(secret, maxAgeS: IssuerSignIn.attemptS))
    } catch { return await failed(error, calls) }
  }

  private func finish(_ fields: [String: String], _ secret: String?, _ calls: InnerCalls) async -> DialectAnswer {
    do throws(RPCError) {
      let link = try await issuer.finish(fields: fields, secret: secret)
      return redirection("\(issuer.configuration.consoleURL)/#link=\(link)", cookie.header("", maxAgeS: 0))
    } catch { return await failed(error, calls) }
  }

  private func failed(_ error: RPCError, _ calls: InnerCalls) async -> DialectAnswer {
    await console.sessions.signInFailed(
      .issuer, address: CallTransport.host(of: calls.remoteAddress), reason: error.reason)
    return redirection(
      "\(issuer.configuration.consoleURL)/#issuer=\(error.reason)", cookie.header("", maxAgeS: 0))
  }

  private func redirection(_ location: String, _ cookie: DialectAnswer.Header) -> DialectAnswer {
    DialectAnswer(303, nil, headers: [.init(name: "Location", value: location), cookie])
  }
}
