/// A parameter of a request to publish, with the names that ntfy and Zentik document for it.
///
/// Names are compared in lower case and without hyphens and underscores: `Sequence-ID`, `sequence_id` and `sequenceId`
/// are one name.
enum PublishParameter: String, Sendable, Hashable, CaseIterable {
  case title, subtitle, message, priority, tags, delay, timezone, actions, click, tapAction, attach, attachments,
    filename
  case icon, imageUrl, videoUrl, gifUrl, sequenceId, ephemeral, remindEveryMinutes, maxReminders, snoozes, postpones
  case addMarkAsReadAction, addOpenNotificationAction, addDeleteAction, sound, groupId, userIds, markdown
  /// The destination and the credential.
  case bucket, key
  /// Known to other servers, and without a meaning here.
  case email, call, cache, firebase, unifiedPush, pollId, template, locale

  /// The names that ntfy also accepts as headers, with or without `X-`. The first is the one that replies use.
  var ntfyNames: [String] {
    switch self {
    case .title: ["title", "t"]
    case .message: ["message", "m"]
    case .priority: ["priority", "prio", "p"]
    case .tags: ["tags", "tag", "ta"]
    case .delay: ["delay", "at", "in"]
    case .timezone: ["timezone"]
    case .actions: ["actions", "action"]
    case .click: ["click"]
    case .attach: ["attach", "a"]
    case .filename: ["filename", "file", "f"]
    case .icon: ["icon"]
    case .sequenceId: ["sequenceid", "sid"]
    case .markdown: ["markdown", "md"]
    case .email: ["email", "mail", "e"]
    case .call: ["call"]
    case .cache: ["cache"]
    case .firebase: ["firebase"]
    case .unifiedPush: ["unifiedpush", "up"]
    case .pollId: ["pollid"]
    case .template: ["template", "tpl"]
    default: []
    }
  }

  /// The names of Zentik: in the query, and in headers after `X-Message-`.
  var zentikNames: [String] {
    switch self {
    case .message: ["body"]
    case .priority: ["deliverytype"]
    case .delay: ["scheduledsendat"]
    case .click: ["tapurl"]
    case .sequenceId: ["collapseid"]
    case .bucket: ["bucketid", "bucket"]
    case .key: ["key", "magiccode"]
    case .userIds: ["userids"]
    default: [Self.normal(rawValue)]
    }
  }

  /// The reason why a parameter of another server has no effect here; nil for one that has.
  var isWithoutEffect: String? {
    switch self {
    case .email: "no e-mail is sent"
    case .call: "no calls are made"
    case .cache: "every notification is stored"
    case .firebase, .unifiedPush, .pollId: "pushes go to APNs"
    case .template: "use `templateId` of CreateNotification"
    case .locale: "texts are shown as they are"
    case .markdown: "the text is shown as it is"
    default: nil
    }
  }

  /// Returns a name in lower case, without hyphens and underscores.
  static func normal(_ name: String) -> String { name.lowercased().filter { $0 != "-" && $0 != "_" } }

  static let byNtfyName: [String: PublishParameter] = byName(\.ntfyNames)
  static let byAnyName: [String: PublishParameter] = byName(\.ntfyNames).merging(byName(\.zentikNames)) { first, _ in
    first
  }

  private static func byName(_ names: (PublishParameter) -> [String]) -> [String: PublishParameter] {
    Dictionary(allCases.flatMap { parameter in names(parameter).map { ($0, parameter) } }) { first, _ in first }
  }

  /// Returns the parameter that a query's or form's name stands for.
  static func ofQuery(_ name: String) -> PublishParameter? {
    let normal = normal(name)
    return byAnyName[normal] ?? (normal.hasPrefix("x") ? byNtfyName[String(normal.dropFirst())] : nil)
  }

  /// The meaning of a header's name.
  enum HeaderMeaning: Equatable {
    case parameter(PublishParameter)
    /// Begins like a header of this API, but has no meaning.
    case unknown
    /// Differs from a header of this API by a typing mistake.
    case resembling(String)
    /// A header of HTTP, a proxy or a browser.
    case other
  }

  private static let zentikPrefix = "x-message-"

  static func ofHeader(_ name: String) -> HeaderMeaning {
    let name = name.lowercased()
    if name.hasPrefix(zentikPrefix) {
      return byAnyName[normal(String(name.dropFirst(zentikPrefix.count)))].map { .parameter($0) } ?? .unknown
    }
    let isExtension = name.hasPrefix("x-")
    let bare = normal(isExtension ? String(name.dropFirst(2)) : name)
    if let parameter = byNtfyName[bare] { return .parameter(parameter) }
    // Other programs add headers of their own, so a mistake is only assumed where there is hardly another explanation.
    guard isExtension, bare.count >= 4 else { return .other }
    let near = byNtfyName.keys.filter { $0.count >= 4 && isNear(bare, $0) }.min()
    return near.map { .resembling($0) } ?? .other
  }

  /// Whether two names differ by one letter: added, missing, exchanged with its neighbour, or replaced.
  private static func isNear(_ a: String, _ b: String) -> Bool {
    let (a, b) = (Array(a.utf8), Array(b.utf8))
    guard abs(a.count - b.count) <= 1 else { return false }
    let head = zip(a, b).prefix { $0 == $1 }.count
    let (restA, restB) = (a[head...], b[head...])
    if restA.count == restB.count {
      if restA.dropFirst() == restB.dropFirst() { return true }
      return restA.count >= 2 && restA.prefix(2) == restB.prefix(2).reversed()[...]
        && restA.dropFirst(2) == restB.dropFirst(2)
    }
    return restA.count > restB.count ? restA.dropFirst() == restB : restB.dropFirst() == restA
  }
}
