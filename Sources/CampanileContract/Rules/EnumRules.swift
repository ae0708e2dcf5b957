/// The rules of an enum's value: `buf.validate.EnumRules`.
package struct EnumRules: Sendable {
  /// Whether the contract must name the value.
  package var isDefined = false
  /// The numbers of `in`; empty if the rule is absent.
  package var accepted: Set<Int32> = []
  /// The numbers of `not_in`.
  package var refused: Set<Int32> = []

  package init(refused: Set<Int32> = []) { self.refused = refused }

  /// Reads `defined_only` 2, `in` 3 and `not_in` 4.
  init(_ members: [(number: UInt64, value: ArraySlice<UInt8>)]) throws {
    for (number, value) in members {
      switch number {
      case 2: isDefined = try WireFields.number(value) != 0
      // The values may be packed.
      case 3: accepted.formUnion(try WireFields.numbers(value).map { Int32(truncatingIfNeeded: $0) })
      case 4: refused.formUnion(try WireFields.numbers(value).map { Int32(truncatingIfNeeded: $0) })
      default: throw ContractError("rule \(number) of enum is not supported")
      }
    }
  }

  /// Whether the unspecified value is refused.
  package var isSpecified: Bool { !accepts(0) }

  /// The accepted numbers in ascending order, if the rules list some.
  package var listed: [Int32]? { accepted.isEmpty ? nil : accepted.subtracting(refused).sorted() }

  /// The refused numbers other than the unspecified value's, in ascending order, unless `listed` suffices.
  package var excluded: [Int32] { accepted.isEmpty ? refused.subtracting([0]).sorted() : [] }

  /// Whether the lists accept a number.
  package func accepts(_ number: Int32) -> Bool {
    (accepted.isEmpty || accepted.contains(number)) && !refused.contains(number)
  }

  /// Throws if a list has a number that the enum does not name, or no value satisfies the rules.
  ///
  /// - Parameter numbers: The numbers of the enum; nil if they are unknown.
  func check(_ numbers: Set<Int32>?) throws {
    if let numbers, let unknown = accepted.union(refused).subtracting(numbers).min() {
      throw ContractError("lists \(unknown), which is not a value of the enum")
    }
    let isPossible =
      if let listed { !listed.isEmpty } else { !isDefined || numbers.map { !$0.subtracting(refused).isEmpty } ?? true }
    guard isPossible else { throw ContractError("excludes every value of the enum") }
  }
}
