import CampanileBase
import CampanileCodec
import CampanileMessages
import Foundation
import TestMessages

// Validates messages for Tests/SuiteTests/test_constraint_oracle.py. Each line of the standard input is the full name
// of a message and its JSON. Each line of the standard output is a list in JSON: the path and the description of each
// violation.

/// Returns the generated type of a message. The runtime finds it by its mangled name, so that no table is needed.
func type(named fullName: Substring) -> (any ProtoMessage.Type)? {
  let names = fullName.split(separator: ".").drop { $0.first?.isLowercase == true }
  let mangled = names.map { "\($0.utf8.count)\($0)V" }.joined()
  return ["CampanileMessages", "TestMessages"].lazy
    .compactMap { _typeByName("\($0.utf8.count)\($0)\(mangled)") as? any ProtoMessage.Type }
    .first { $0.protoFullName == fullName }
}

func violations(_ name: Substring, _ json: Substring) -> [[String]] {
  guard let type = type(named: name) else { return [["", "no such type"]] }
  do {
    var violations = Violations()
    let message = try type.init(jsonString: String(json))
    (message as? any ValidatedMessage)?.validate(into: &violations)
    return violations.items.map { [$0.field, $0.description] }
  } catch { return [["", "\(error)"]] }
}

while let line = readLine() {
  let parts = line.split(separator: " ", maxSplits: 1)
  let found = violations(parts[0], parts[1])
  print(String(decoding: try JSONEncoder().encode(found), as: UTF8.self))
}
