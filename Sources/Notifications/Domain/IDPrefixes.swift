import CampanileService

/// What the ids of each kind of object begin with.
extension SortableID {
  static let notificationPrefix: StaticString = "n_"
  static let bucketPrefix: StaticString = "b_"
  static let publishKeyPrefix: StaticString = "k_"
  static let actionRunPrefix: StaticString = "r_"
}
