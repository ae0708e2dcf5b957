import CampanileCodec
import CampanileJSON
import CampanileRPC

/// Three independent readers agree whether a text is valid JSON, and the validator agrees for every division into
/// chunks.
let jsonTarget = FuzzTarget("json") { input in
  let limits = JSONLimits(depthMax: RawJSON.depthMax, loneSurrogates: .accept)
  let isValid = validate([input], limits)
  let isRaw = input.withUnsafeBytes { (try? RawJSON.checkValue($0)) != nil }
  require(isValid == isRaw, "the validator returns \(isValid), the gateway's scanner \(isRaw): \(shown(input))")
  require(isValid == ((try? JSONValue.parse(input, limits: limits)) != nil), "the parser disagrees: \(shown(input))")
  var strict = limits
  strict.loneSurrogates = .reject
  let isStrict = validate([input], strict)
  require(
    isStrict == readsAsValue(input), "the validator returns \(isStrict), the codec \(!isStrict): \(shown(input))")
  let cut = Int(input.first ?? 0) % (input.count + 1)
  let parts = [Array(input[..<cut]), Array(input[cut...])]
  require(validate(parts, limits) == isValid, "split at \(cut) the result differs: \(shown(input))")
  if isValid, let value = try? JSONValue.parse(input, limits: limits) {
    let text = value.serialised()
    require((try? JSONValue.parse(text, limits: limits)) == value, "the value changes when serialised: \(shown(text))")
  }
}

private func validate(_ parts: [[UInt8]], _ limits: JSONLimits) -> Bool {
  var validator = JSONValidator(limits: limits)
  do {
    for part in parts {
      try part.withUnsafeBytes { bytes in Result { try validator.update(bytes) } }.get()
      validator = try JSONValidator(state: validator.state)
    }
    _ = try validator.finish()
    return true
  } catch {
    return false
  }
}

private func readsAsValue(_ bytes: [UInt8]) -> Bool {
  bytes.withUnsafeBytes { raw in
    var reader = JSONReader(raw, options: JSONDecodingOptions(maxDepth: RawJSON.depthMax))
    do {
      try reader.skipValue()
      try reader.finish()
      return true
    } catch {
      return false
    }
  }
}
