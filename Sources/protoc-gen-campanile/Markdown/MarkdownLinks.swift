import CampanileContract

/// The pages of the reference, and the links to their sections.
struct MarkdownLinks {
  private let contract: Contract
  /// The target of each type: the section of its own, or of the only method that it is a request or a response of.
  private var targets: [String: String] = [:]
  /// The types with sections of their own, by package, sorted.
  private(set) var types: [String: [String]] = [:]
  /// The packages that have a page of types, sorted.
  var packages: [String] { types.keys.sorted() }

  init(_ contract: Contract, _ services: [Contract.Service]) {
    self.contract = contract
    let methods = services.flatMap(\.methods)
    for method in methods {
      for type in [method.requestType, method.responseType] {
        targets[type] = "\(method.service).md#\(Self.slug(method.name))"
      }
    }
    var open = methods.flatMap { [$0.requestType, $0.responseType] }
    var seen: Set<String> = []
    while let type = open.popLast() {
      guard seen.insert(type).inserted, let package = package(of: type) else { continue }
      open += contract.messages[type]?.fields.flatMap { Self.types(of: $0.kind) } ?? []
      guard targets[type] == nil else { continue }
      types[package, default: []].append(type)
      targets[type] = "\(page(ofPackage: package))#\(Self.slug(title(type)))"
    }
    for package in types.keys { types[package]?.sort() }
  }

  /// Returns the package of a type; nil for Google's own types, whose JSON the index explains.
  private func package(of type: String) -> String? {
    guard !type.hasPrefix("google.") else { return nil }
    return contract.messages[type]?.package ?? contract.enums[type]?.package
  }

  private static func types(of kind: Contract.Field.Kind) -> [String] {
    switch kind {
    case .message(let name), .enumeration(let name): [name]
    case .map(let key, let value): types(of: key) + types(of: value)
    default: []
    }
  }

  func page(of service: Contract.Service) -> String { service.name + ".md" }

  func page(ofPackage package: String) -> String { package + ".md" }

  /// Returns a name without its package.
  func title(_ name: String) -> String {
    let package = package(of: name) ?? contract.services.first { $0.name == name }?.package ?? "google.protobuf"
    return String(name.dropFirst(package.isEmpty ? 0 : package.count + 1))
  }

  /// Returns the type of a field, with links.
  func type(_ field: Contract.Field) -> String { (field.isRepeated ? "list of " : "") + type(field.kind) }

  private func type(_ kind: Contract.Field.Kind) -> String {
    switch kind {
    case .message(let name), .enumeration(let name):
      targets[name].map { "[\(title(name))](\($0))" } ?? title(name)
    case .map(let key, let value): "map of \(type(key)) to \(type(value))"
    default: "\(kind)"
    }
  }

  /// Returns the fragment that GitHub gives to a heading.
  static func slug(_ heading: String) -> String {
    heading.lowercased().filter { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "-" }
  }
}
