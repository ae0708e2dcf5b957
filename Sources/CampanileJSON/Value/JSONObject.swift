/// The members of a JSON object in their order (RFC 8259, section 4).
///
/// A name may be there more than once; then the last one counts, as most parsers have it, and the others are kept.
/// Looking a name up takes time in proportion to the members.
public struct JSONObject: Sendable {
  public struct Member: Sendable, Hashable {
    public var name: JSONString
    public var value: JSONValue

    public init(name: JSONString, value: JSONValue) {
      self.name = name
      self.value = value
    }
  }

  public var members: [Member]

  public init(_ members: [Member] = []) {
    self.members = members
  }

  /// The value of the last member with this name. Setting nil removes all of them; setting a value replaces the last, or
  /// adds a member at the end.
  public subscript(_ name: String) -> JSONValue? {
    get { index(of: name).map { members[$0].value } }
    set {
      guard let newValue else { return members.removeAll { $0.name.means(name) } }
      if let index = index(of: name) {
        members[index].value = newValue
      } else {
        members.append(.init(name: JSONString(name), value: newValue))
      }
    }
  }

  /// Where the last member with this name is.
  func index(of name: String) -> Int? { members.lastIndex { $0.name.means(name) } }

  /// Where the last member with this name is.
  func index(of name: JSONString) -> Int? { members.lastIndex { $0.name == name } }

  /// The members by their names; nil if a name is there twice.
  var indexByName: [JSONString: Int]? {
    var result: [JSONString: Int] = [:]
    result.reserveCapacity(members.count)
    for (index, member) in members.enumerated() where result.updateValue(index, forKey: member.name) != nil {
      return nil
    }
    return result
  }
}

extension JSONObject: Hashable {
  /// Same names with equal values, in any order; what a repeated name has, in the order of the repetitions.
  public static func == (left: JSONObject, right: JSONObject) -> Bool {
    guard left.members.count == right.members.count else { return false }
    // Written by the same program, objects mostly agree in their order, too. Values are compared once on either way:
    // twice on each level would be 2^depth times.
    if zip(left.members, right.members).allSatisfy({ $0.name == $1.name }) {
      return zip(left.members, right.members).allSatisfy { $0.value == $1.value }
    }
    return left.grouped == right.grouped
  }

  private var grouped: [JSONString: [JSONValue]] {
    Dictionary(grouping: members, by: \.name).mapValues { $0.map(\.value) }
  }

  public func hash(into hasher: inout Hasher) {
    // A sum, as the order does not count.
    var sum = 0
    for member in members {
      var own = Hasher()
      own.combine(member.name)
      own.combine(member.value)
      sum &+= own.finalize()
    }
    hasher.combine(members.count)
    hasher.combine(sum)
  }
}
