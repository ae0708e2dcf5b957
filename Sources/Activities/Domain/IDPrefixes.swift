import CampanileService

/// What the ids of each kind of object begin with.
extension SortableID {
  static let activityPrefix: StaticString = "a_"
  static let tokenPrefix: StaticString = "p_"
}
