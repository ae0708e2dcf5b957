import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import GatewayHTTP

/// The body of a request to publish: the message's text, a file, or a form.
struct PublishBody: Sendable {
  /// The message; nil for a file.
  private(set) var text: String?
  /// A file without its name.
  private(set) var file: Attachment?

  static let formType = "application/x-www-form-urlencoded"

  /// Reads a body. Adds the parameters of a form.
  ///
  /// A body with the parameter `filename`, and one that is not a text, is a file. Curl calls every text a form; such a
  /// body is one only if all of its names are parameters.
  ///
  /// - Throws: INVALID_ARGUMENT `TEXT_INVALID` for a text that is not UTF-8, and `CONTENT_TYPE_UNSUPPORTED` for JSON.
  init(_ bytes: [UInt8], contentType: String?, _ parameters: inout PublishParameters) throws(RPCError) {
    let type = Self.essence(contentType)
    guard type != "application/json" else {
      throw RPCError(
        .invalidArgument, "the body must be a text or a file; POST /notifications/v1/publish takes JSON",
        reason: "CONTENT_TYPE_UNSUPPORTED", processed: false)
    }
    let isText = type.isEmpty || type.hasPrefix("text/") || type == Self.formType
    let isNamed = parameters[.filename] != nil && (parameters[.attach] ?? "").isEmpty
    if !bytes.isEmpty, isNamed || !isText {
      // Curl's default types say nothing about a file.
      let isGuessed = type.isEmpty || type == "text/plain" || type == Self.formType
      file = Self.file(bytes, type: isGuessed ? "" : type, parameters)
      return
    }
    guard let text = String(validating: bytes, as: UTF8.self), Self.isUTF8(contentType) else {
      throw .invalidField("message", "must be UTF-8; a file needs the parameter filename", .textInvalid)
    }
    if type == "text/markdown" { parameters.note("body: the text is shown as it is") }
    if type == Self.formType, text.contains("="), let form = try? QueryText(text[...]), PublishParameters.isForm(form) {
      try parameters.add(form: form)
      return
    }
    self.text = text
  }

  private static func file(_ bytes: [UInt8], type: String, _ parameters: PublishParameters) -> Attachment {
    let name = parameters[.filename] ?? ""
    let contentType = type.isEmpty ? Self.contentType(ofName: name) : type
    let mediaType = type.isEmpty ? Self.mediaType(ofName: name) : Self.mediaType(ofType: type)
    return Attachment(mediaType: mediaType, data: bytes, contentType: contentType)
  }

  /// Returns a content type without its parameters, in lower case.
  private static func essence(_ contentType: String?) -> String {
    (contentType ?? "").split(separator: ";").first.map { String($0).trimmingSpaces.lowercased() } ?? ""
  }

  private static func isUTF8(_ contentType: String?) -> Bool {
    let charsets = (contentType ?? "").lowercased().split(separator: ";").dropFirst().compactMap { part -> String? in
      let text = String(part).trimmingSpaces
      return text.hasPrefix("charset=") ? String(text.dropFirst(8)).filter { $0 != "\"" } : nil
    }
    return charsets.allSatisfy { ["utf-8", "utf8", "us-ascii"].contains($0) }
  }

  private static let types: [String: (type: String, media: Attachment.MediaType)] = [
    "png": ("image/png", .image), "jpg": ("image/jpeg", .image), "jpeg": ("image/jpeg", .image),
    "webp": ("image/webp", .image), "heic": ("image/heic", .image), "gif": ("image/gif", .gif),
    "mp4": ("video/mp4", .video), "mov": ("video/quicktime", .video), "mp3": ("audio/mpeg", .audio),
    "m4a": ("audio/mp4", .audio), "wav": ("audio/wav", .audio), "pdf": ("application/pdf", .file),
    "txt": ("text/plain", .file), "log": ("text/plain", .file), "json": ("application/json", .file),
  ]

  private static func known(_ name: String) -> (type: String, media: Attachment.MediaType)? {
    let path = name.prefix { $0 != "?" && $0 != "#" }
    return path.lastIndex(of: ".").flatMap { types[path[path.index(after: $0)...].lowercased()] }
  }

  /// Returns the kind of medium of a file name or URL, by its ending.
  static func mediaType(ofName name: String) -> Attachment.MediaType { known(name)?.media ?? .file }

  private static func contentType(ofName name: String) -> String { known(name)?.type ?? "application/octet-stream" }

  private static func mediaType(ofType type: String) -> Attachment.MediaType {
    switch type.split(separator: "/").first {
    case "image": type == "image/gif" ? .gif : .image
    case "video": .video
    case "audio": .audio
    default: .file
    }
  }
}

/// Attachments in Zentik's JSON form.
enum ZentikAttachments {
  static func parse(_ text: String) throws(RPCError) -> [Attachment] {
    let fields = try JSONFields(Array("{\"attachments\":\(text)}".utf8))
    var found: [Attachment] = []
    for (index, element) in (try fields.elements("attachments", max: ZentikMessage.listMax) ?? []).enumerated() {
      let item = try JSONFields(element, prefix: "attachments[\(index)].")
      let type = try item.required("mediaType", try item.string("mediaType"))
      guard let mediaType = ZentikMessage.mediaTypes[type] else {
        throw .invalidField("attachments[\(index)].mediaType", "is unknown", .enumUnknown)
      }
      found.append(
        Attachment(mediaType: mediaType, url: try item.string("url") ?? "", name: try item.string("name") ?? ""))
    }
    return found
  }
}
