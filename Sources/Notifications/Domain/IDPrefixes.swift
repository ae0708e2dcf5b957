import CampanileService

/// The id prefix of each kind of object.
extension SortableID {
  static let notificationPrefix: StaticString = "n_"
  static let bucketPrefix: StaticString = "b_"
  static let publishKeyPrefix: StaticString = "k_"
  static let actionRunPrefix: StaticString = "r_"
  static let invitationPrefix: StaticString = "i_"
  static let inviteCodePrefix: StaticString = "v_"
}
