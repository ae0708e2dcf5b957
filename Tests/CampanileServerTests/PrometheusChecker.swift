/// A strict parser of the Prometheus text format 0.0.4, written from the specification, independently of
/// `PrometheusText`.
struct PrometheusChecker {
  struct Failure: Error, Hashable { var line: String }
  struct Sample: Hashable {
    var name: String
    var labels: [String: String]
    var value: Double
  }

  private(set) var samples: [Sample] = []
  private(set) var types: [String: String] = [:]
  private(set) var help: [String: String] = [:]

  init(_ text: String) throws {
    guard text.utf8.last == UInt8(ascii: "\n") else { throw Failure(line: "no final line feed") }
    var seen: Set<Sample> = []
    for line in text.unicodeScalars.split(separator: "\n").map({ String($0) }) {
      if line.hasPrefix("# TYPE ") {
        let words = line.split(separator: " ")
        guard words.count == 4, ["counter", "gauge", "histogram"].contains(words[3]),
          types.updateValue(String(words[3]), forKey: String(words[2])) == nil
        else { throw Failure(line: line) }
      } else if line.hasPrefix("# HELP ") {
        let words = line.split(separator: " ", maxSplits: 3)
        guard words.count == 4, help.updateValue(String(words[3]), forKey: String(words[2])) == nil else {
          throw Failure(line: line)
        }
      } else {
        let sample = try Self.sample(line)
        guard seen.insert(Sample(name: sample.name, labels: sample.labels, value: 0)).inserted else {
          throw Failure(line: "twice: " + line)
        }
        samples.append(sample)
      }
    }
    try checkTypes()
    try checkHistograms()
  }

  func value(_ name: String, _ labels: [String: String] = [:]) -> Double? {
    samples.first { $0.name == name && $0.labels == labels }?.value
  }

  private static func sample(_ line: String) throws -> Sample {
    var rest = Array(line.unicodeScalars)[...]
    func isNamePart(_ scalar: Unicode.Scalar) -> Bool {
      ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar) || ("0"..."9").contains(scalar) || scalar == "_"
        || scalar == ":"
    }
    func name() throws -> String {
      let part = rest.prefix(while: isNamePart)
      guard let first = part.first, !("0"..."9").contains(first) else { throw Failure(line: line) }
      rest = rest.dropFirst(part.count)
      return String(String.UnicodeScalarView(part))
    }
    func expect(_ scalar: Unicode.Scalar) throws {
      guard rest.popFirst() == scalar else { throw Failure(line: line) }
    }
    let sampleName = try name()
    var labels: [String: String] = [:]
    if rest.first == "{" {
      repeat {
        rest = rest.dropFirst()
        let label = try name()
        try expect("=")
        try expect("\"")
        var value = String.UnicodeScalarView()
        while let scalar = rest.popFirst(), scalar != "\"" {
          guard scalar == "\\" else {
            value.append(scalar)
            continue
          }
          switch rest.popFirst() {
          case "n": value.append("\n")
          case "\"": value.append("\"")
          case "\\": value.append("\\")
          default: throw Failure(line: line)
          }
        }
        guard labels.updateValue(String(value), forKey: label) == nil else { throw Failure(line: line) }
      } while rest.first == ","
      try expect("}")
    }
    try expect(" ")
    let number = String(String.UnicodeScalarView(rest)).replacing("+Inf", with: "inf")
    guard let value = Double(number) else { throw Failure(line: line) }
    return Sample(name: sampleName, labels: labels, value: value)
  }

  private func checkTypes() throws {
    for sample in samples {
      let base = ["_bucket", "_sum", "_count"].compactMap { suffix in
        sample.name.hasSuffix(suffix) ? String(sample.name.dropLast(suffix.count)) : nil
      }.first { types[$0] == "histogram" }
      guard types[base ?? sample.name] != nil else { throw Failure(line: "untyped: " + sample.name) }
    }
  }

  private func checkHistograms() throws {
    for name in types.filter({ $0.value == "histogram" }).keys {
      var last: [[String: String]: (bound: Double, count: Double)] = [:]
      for sample in samples where sample.name == name + "_bucket" {
        var labels = sample.labels
        let text = labels.removeValue(forKey: "le")?.replacing("+Inf", with: "inf") ?? ""
        guard let bound = Double(text) else { throw Failure(line: name) }
        if let previous = last[labels] {
          guard bound > previous.bound, sample.value >= previous.count else { throw Failure(line: name) }
        }
        last[labels] = (bound, sample.value)
      }
      for (labels, end) in last {
        guard end.bound == .infinity, value(name + "_count", labels) == end.count, value(name + "_sum", labels) != nil
        else { throw Failure(line: name) }
      }
    }
  }
}
