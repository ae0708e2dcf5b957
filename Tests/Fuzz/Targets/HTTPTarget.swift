import CampanileAPI
import CampanileCodec
import CampanileJSON
import CampanileRPC
import NIOHTTP1

@testable import Gateway
@testable import GatewayDialects
@testable import GatewayHTTP

/// For every request, the service receives one JSON object with all members of the body, or the request is refused with
/// a JSON body.
let httpTarget = FuzzTarget("http") { input in
  guard let (head, body) = request(input) else { return }
  var target = HTTPJudgedTarget()
  switch planner.decide(head, &target) {
  case .call(let plan): judge(plan, body)
  case .refusal(let refusal):
    var writer = JSONWriter()
    ErrorBody.rest(refusal.error, status: 400, to: &writer)
    let text = writer.withUnsafeBytes { [UInt8]($0) }
    require((try? JSONValue.parse(text)) != nil, "a refusal that is not JSON: \(shown(text))")
  default: break
  }
}

private let planner = HTTPPlanner(
  table: HTTPTable(methods: SuiteMethods.all + Gateway.ownMethods, descriptorSet: DescriptorSet.serializedBytes),
  crossOrigin: CrossOriginPolicy(), files: [:], hostGuard: nil,
  dialects: [
    KilwinningDialect(isCookieSecure: true, nowMs: { 0 }), ZentikDialect(nowMs: { 0 }),
    FirebaseDialect(configuration: FirebaseConfiguration(app: "app"), nowMs: { 0 }),
  ])

/// Parses `POST /path` and a line per header, followed by an empty line and the body.
private func request(_ input: [UInt8]) -> (HTTPRequestHead, [UInt8])? {
  var lines: [String] = []
  var rest = input[...]
  while !rest.isEmpty {
    let line = rest.prefix { $0 != 10 }
    rest = rest.dropFirst(line.count + 1)
    if line.isEmpty { break }
    guard let text = String(validating: line, as: UTF8.self) else { return nil }
    lines.append(text)
  }
  guard let words = lines.first?.split(separator: " ", maxSplits: 1), words.count == 2 else { return nil }
  var head = HTTPRequestHead(
    version: .http1_1, method: NIOHTTP1.HTTPMethod(rawValue: String(words[0])), uri: String(words[1]))
  head.headers.add(name: "host", value: "localhost")
  for line in lines.dropFirst() {
    let parts = line.split(separator: ":", maxSplits: 1)
    // NIO's decoder rejects other header names.
    guard parts.count == 2, parts[0].utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { return nil }
    head.headers.add(name: String(parts[0]), value: parts[1].drop { $0 == " " }.description)
  }
  if !rest.isEmpty { head.headers.replaceOrAdd(name: "content-length", value: String(rest.count)) }
  return (head, Array(rest))
}

private func judge(_ plan: HTTPPlan, _ body: [UInt8]) {
  let outcome = body.withUnsafeBytes { raw -> [UInt8]? in try? plan.withParams(raw, bytesMax: 65_536) { [UInt8]($0) } }
  guard let params = outcome, !params.isEmpty else { return }
  guard case .object(let object)? = try? JSONValue.parse(params) else {
    return require(false, "the service does not receive an object: \(shown(params))")
  }
  guard case .bound(let tree, .whole) = plan.params, case .object(let before)? = try? JSONValue.parse(body) else {
    return
  }
  let bound = tree.members.flatMap { [$0.name, $0.jsonName] }
  if before.members.contains(where: { bound.contains($0.name.value) }) { return }
  require(
    object.members.count == before.members.count + tree.members.count,
    "members are missing: \(shown(body)) became \(shown(params))")
}
