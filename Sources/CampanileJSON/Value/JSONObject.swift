/// The members of a JSON object in their order (RFC 8259, section 4).
///
/// A name may occur more than once. The last member then counts, as in most parsers, and the others are retained.
/// Looking up a name takes time linear in the number of members.
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

  /// The value of the last member with this name. Setting nil removes all members with the name. Setting a value
  /// replaces the last one, or appends a member.
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

  /// The index of the last member with this name.
  func index(of name: String) -> Int? { members.lastIndex { $0.name.means(name) } }

  /// The index of the last member with this name.
  func index(of name: JSONString) -> Int? { members.lastIndex { $0.name == name } }

  /// The index of each member by name; nil if a name occurs twice.
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
  /// Equal if both have the same names with equal values, in any order. Duplicate names must have equal values in the
  /// same order.
  public static func == (left: JSONObject, right: JSONObject) -> Bool {
    guard left.members.count == right.members.count else { return false }
    // Objects from the same program usually have their members in the same order. Either path compares each value once:
    // twice on each level would cost 2^depth comparisons.
    if zip(left.members, right.members).allSatisfy({ $0.name == $1.name }) {
      return zip(left.members, right.members).allSatisfy { $0.value == $1.value }
    }
    return left.grouped == right.grouped
  }

  private var grouped: [JSONString: [JSONValue]] {
    Dictionary(grouping: members, by: \.name).mapValues { $0.map(\.value) }
  }

  public func hash(into hasher: inout Hasher) {
    // A sum, because the order of the members does not matter.
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
