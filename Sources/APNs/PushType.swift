/// The type of a push: the value of the header `apns-push-type`.
///
/// The list is Apple's ("Sending notification requests to APNs", "Updating widgets with WidgetKit push notifications",
/// "Updating controls locally and remotely"). Each type has its own topic: the bundle id and a suffix.
public struct PushType: Sendable, Hashable, CustomStringConvertible {
  /// The header's value.
  public let rawValue: String
  /// The suffix of the bundle id in the topic; empty if the topic is the bundle id.
  public let topicSuffix: String

  private init(_ rawValue: String, suffix: String = "") {
    self.rawValue = rawValue
    topicSuffix = suffix
  }

  public static let alert = PushType("alert")
  public static let background = PushType("background")
  public static let controls = PushType("controls", suffix: ".push-type.controls")
  public static let location = PushType("location", suffix: ".location-query")
  public static let voip = PushType("voip", suffix: ".voip")
  public static let complication = PushType("complication", suffix: ".complication")
  public static let fileprovider = PushType("fileprovider", suffix: ".pushkit.fileprovider")
  /// The topic is an identifier from the device management certificate, in the form of a bundle id.
  public static let mdm = PushType("mdm")
  public static let liveactivity = PushType("liveactivity", suffix: ".push-type.liveactivity")
  public static let pushtotalk = PushType("pushtotalk", suffix: ".voip-ptt")
  public static let widgets = PushType("widgets", suffix: ".push-type.widgets")

  /// All push types.
  public static let all = [
    alert, background, controls, location, voip, complication, fileprovider, mdm, liveactivity, pushtotalk, widgets,
  ]

  private static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.rawValue, $0) })

  /// Returns the push type with this header value, in lower case as Apple writes it; `nil` if there is none.
  public init?(rawValue: String) {
    guard let known = Self.byName[rawValue] else { return nil }
    self = known
  }

  public var description: String { rawValue }

  public static func == (a: PushType, b: PushType) -> Bool { a.rawValue == b.rawValue }
  public func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }
}
