import CampanileService

/// Prefixes of the ids of each kind of object.
extension SortableID {
  static let activityPrefix: StaticString = "a_"
  static let tokenPrefix: StaticString = "p_"
}
