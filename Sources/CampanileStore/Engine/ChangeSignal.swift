/// The changes of commits, as far as they concern watches: users, or other names that the service chooses.
public enum ChangedNames: Sendable, Hashable {
  case some(Set<String>)
  /// Possibly everything.
  case all

  /// Whether a name may have changed.
  package func contains(_ name: String) -> Bool {
    switch self {
    case .some(let names): names.contains(name)
    case .all: true
    }
  }

  /// Adds the changes of other commits. Many names become `all`.
  package mutating func add(_ other: ChangedNames, namesMax: Int) {
    guard case .some(let own) = self, case .some(let others) = other, own.count + others.count <= namesMax else {
      self = .all
      return
    }
    self = .some(own.union(others))
  }
}

/// Informs the processes that use one database of each other's commits.
///
/// It carries no data: a process that is informed reads the database. No commit is missed, but some may be announced
/// late or twice.
package protocol ChangeSignal: Sendable {
  /// Announces a commit of this process to the others. Returns at once.
  func announce(_ changes: ChangedNames)
  func close()
}
