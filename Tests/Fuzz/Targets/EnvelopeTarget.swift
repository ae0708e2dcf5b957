import CampanileJSON
import NIOCore

@testable import CampanileRPC

/// The envelope scanner and a parser that builds values find the same members. A call that the gateway rewrites, with
/// the bytes of its params, is the same call for the service.
let envelopeTarget = FuzzTarget("envelope") { input in
  let read = scan(input)
  guard case .success(let envelope) = read else { return }
  guard let value = try? JSONValue.parse(input, limits: JSONLimits(depthMax: EnvelopeScanner.depthMax)) else {
    return require(false, "an envelope that is not JSON: \(shown(input))")
  }
  let method = envelope.hasMethod ? input.withUnsafeBytes { EnvelopeScanner.resolve($0, envelope.method) } : nil
  // A name with a lone surrogate is not text, and so not a method.
  guard !envelope.hasMethod || method != nil else { return }
  require(sameText(value["method"]?.text, method), "different method: \(shown(input))")
  for (name, range) in [("params", envelope.params), ("result", envelope.result), ("metadata", envelope.metadata)] {
    let found = range.flatMap { try? JSONValue.parse(Array(input[$0])) }
    require((range == nil) == (value[name] == nil), "only one reader finds \(name): \(shown(input))")
    require(found == value[name], "different \(name): \(shown(input))")
  }
  switch (envelope.id, value["id"]) {
  case (.absent, nil), (.null, .null): break
  case (.call(.string(let text)), .string(let other)):
    require(sameText(text, other.value), "different id: \(shown(input))")
  case (.call(.number(let number)), .number(let other)):
    require(Int(exactly: number) == Int(other.text), "different id: \(shown(input))")
  default: require(false, "different kind of id: \(shown(input))")
  }
  if let method, case .call(let id) = envelope.id { forward(input, envelope, method, id) }
}

private func scan(_ bytes: [UInt8]) -> Result<Envelope, EnvelopeFault> {
  bytes.withUnsafeBytes { raw in
    do throws(EnvelopeFault) { return .success(try EnvelopeScanner.scan(raw)) } catch { return .failure(error) }
  }
}

private func sameText(_ one: String?, _ other: String?) -> Bool {
  one.map { Array($0.utf8) } == other.map { Array($0.utf8) }
}

private func forward(_ input: [UInt8], _ envelope: Envelope, _ method: String, _ id: CallID) {
  let params = envelope.params.map { Array(input[$0]) } ?? []
  var buffer = ByteBuffer()
  params.withUnsafeBytes {
    buffer.writeRequestFrame(id: id, method: method, params: $0, timeoutMs: envelope.timeoutMs, metadata: Metadata())
  }
  let frame = Array(buffer.readableBytesView.dropFirst(4))
  guard case .success(let second) = scan(frame) else {
    return require(false, "the service cannot read the gateway's frame: \(shown(frame))")
  }
  let name = frame.withUnsafeBytes { EnvelopeScanner.resolve($0, second.method) }
  require(sameText(name, method), "the service finds a different method: \(shown(frame))")
  require(second.callID == id && second.timeoutMs == envelope.timeoutMs, "different id at the service: \(shown(frame))")
  require(second.params.map { Array(frame[$0]) } ?? [] == params, "the service finds different params: \(shown(frame))")
  require(second.result == nil && second.error == nil && second.metadata == nil, "an unexpected member appeared")
}
