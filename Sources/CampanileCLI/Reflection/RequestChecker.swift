import CampanileContract
import Foundation

/// Finds fields and enum names that the declaration of a request lacks.
///
/// Servers ignore them, because a client may be newer. A person who types a request has more likely misspelled a name.
struct RequestChecker: Sendable {
  private let contract: Contract
  private let type: String

  /// Maximum depth of nested messages; deeper ones are left to the server.
  private static let depthMax = 32

  /// - Parameter method: A method of `contract`; the requests of other methods are not checked.
  init(_ contract: Contract, method: KnownMethod) {
    self.contract = contract
    type = contract.method("\(method.service)/\(method.name)")?.requestType ?? ""
  }

  /// Checks a request. Text that is not JSON is left to the server, which reports the position of the fault.
  ///
  /// - Throws: `UsageError` with the path and the nearest known names.
  func check(_ json: [UInt8]) throws(UsageError) {
    guard let value = try? JSONSerialization.jsonObject(with: Data(json)) else { return }
    try check(value, message: type, path: "", depth: 0)
  }

  private func check(_ value: Any, message type: String, path: String, depth: Int) throws(UsageError) {
    // The well-known types have JSON forms of their own, and an Any names its type itself.
    guard depth < Self.depthMax, !type.hasPrefix("google.protobuf."), let message = contract.messages[type],
      let members = value as? [String: Any]
    else { return }
    for (name, value) in members.sorted(by: { $0.key < $1.key }) {
      let path = path + name
      guard let field = message.fields.first(where: { $0.jsonName == name || $0.name == name }) else {
        throw Self.fault(path, "\(type) has no such field", name, known: message.fields.map(\.jsonName))
      }
      if case .map(_, let kind) = field.kind {
        for (key, value) in (value as? [String: Any] ?? [:]).sorted(by: { $0.key < $1.key }) {
          try check(value, kind, path: "\(path).\(key)", depth: depth)
        }
      } else if field.isRepeated {
        for (number, element) in (value as? [Any] ?? []).enumerated() {
          try check(element, field.kind, path: "\(path)[\(number)]", depth: depth)
        }
      } else {
        try check(value, field.kind, path: path, depth: depth)
      }
    }
  }

  private func check(_ value: Any, _ kind: Contract.Field.Kind, path: String, depth: Int) throws(UsageError) {
    switch kind {
    case .message(let type): try check(value, message: type, path: path + ".", depth: depth + 1)
    case .enumeration(let type):
      guard let name = value as? String, let names = contract.enums[type]?.values.map(\.name), !names.contains(name)
      else { return }
      throw Self.fault(path, "\(type) has no value \(name.debugDescription)", name, known: names)
    default: return
    }
  }

  private static func fault(_ path: String, _ what: String, _ name: String, known: [String]) -> UsageError {
    let near = NameResolver.suggestions(for: name, among: known)
    let hint = near.isEmpty ? "" : "; did you mean \(near.joined(separator: " or "))?"
    return UsageError(
      Terminal.printable("\(path.prefix(256)): \(what)\(hint) (--allow-unknown sends it)"))
  }
}
