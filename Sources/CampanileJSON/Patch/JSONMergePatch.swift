/// A JSON Merge Patch (RFC 7396): a document of the changed members, with `null` for those to remove.
public struct JSONMergePatch: Sendable, Hashable {
  public var document: JSONValue

  public init(_ document: JSONValue) {
    self.document = document
  }

  /// Returns `target` with the patch merged into it (section 2). Cannot fail: any JSON value is a merge patch.
  ///
  /// The result is at most as deep as the deeper of both. Members keep their positions; new ones are appended. A
  /// duplicate name in the patch is merged twice, in the order of the text.
  public func apply(to target: JSONValue) -> JSONValue { Self.merge(target, document) }

  /// Returns the merge patch that turns `old` into `new`; nil if there is none.
  ///
  /// A merge patch cannot set a member to null or change a duplicate name (section 1). Arrays that differ are replaced
  /// as a whole.
  public static func diff(from old: JSONValue, to new: JSONValue) -> JSONMergePatch? {
    guard let document = patch(old, new) else { return nil }
    return JSONMergePatch(document)
  }

  private static func merge(_ target: JSONValue, _ patch: JSONValue) -> JSONValue {
    guard case .object(let changes) = patch else { return patch }
    var result = JSONObject()
    if case .object(let object) = target { result = object }
    var places: [JSONString: Int] = [:]
    for (index, member) in result.members.enumerated() { places[member.name] = index }
    var removed: Set<JSONString> = []
    for change in changes.members {
      if case .null = change.value {
        removed.insert(change.name)
        continue
      }
      let isBack = removed.remove(change.name) != nil
      if let place = places[change.name] {
        let before = isBack ? .null : result.members[place].value
        result.members[place].value = merge(before, change.value)
      } else {
        places[change.name] = result.members.count
        result.members.append(.init(name: change.name, value: merge(.null, change.value)))
      }
    }
    if !removed.isEmpty { result.members.removeAll { removed.contains($0.name) } }
    return .object(result)
  }

  private static func patch(_ old: JSONValue, _ new: JSONValue) -> JSONValue? {
    guard case .object(let after) = new else { return new }
    guard let afterIndex = after.indexByName else { return nil }
    guard case .object(let before) = old else { return isExpressible(new) ? new : nil }
    guard let beforeIndex = before.indexByName else { return nil }
    var changes: [JSONObject.Member] = []
    for member in before.members where afterIndex[member.name] == nil {
      changes.append(.init(name: member.name, value: .null))
    }
    for member in after.members {
      guard let index = beforeIndex[member.name] else {
        guard isExpressible(member.value) else { return nil }
        changes.append(member)
        continue
      }
      let value = before.members[index].value
      if value == member.value { continue }
      if case .null = member.value { return nil }
      guard let change = patch(value, member.value) else { return nil }
      changes.append(.init(name: member.name, value: change))
    }
    return .object(JSONObject(changes))
  }

  /// Whether merging `value` into nothing results in `value`: no object outside arrays has a null or a duplicate name.
  private static func isExpressible(_ value: JSONValue) -> Bool {
    switch value {
    case .null: return false
    case .object(let object):
      return object.indexByName != nil && object.members.allSatisfy { isExpressible($0.value) }
    default: return true
    }
  }
}
