import Logging

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The common routes of the admin port: `/admin/log-level` and `/admin/reload`.
struct RuntimeOperation: Sendable {
  let levels: SharedLogLevel
  let reloader: Reloader
  let logger: Logger

  private struct LevelRequest: Decodable {
    var level: String
  }

  @Sendable
  func answer(_ request: AdminRoutes.Request) async -> AdminRoutes.Response? {
    switch (request.method, request.path) {
    case ("GET", "/admin/log-level"): return level()
    case ("PUT", "/admin/log-level"), ("POST", "/admin/log-level"): return setLevel(request.body)
    case ("POST", "/admin/reload"): return await reload()
    case (_, "/admin/log-level"), (_, "/admin/reload"):
      return .failure(405, "the path does not accept \(request.method)")
    default: return nil
    }
  }

  private func level() -> AdminRoutes.Response {
    AdminRoutes.Response(status: 200, body: Array("{\"level\":\"\(levels.level.rawValue)\"}\n".utf8))
  }

  private func setLevel(_ body: [UInt8]) -> AdminRoutes.Response {
    guard let asked = try? JSONDecoder().decode(LevelRequest.self, from: Data(body)),
      let level = Logger.Level(rawValue: asked.level)
    else {
      let names = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
      return .failure(400, "the body must be {\"level\":…} with one of \(names)")
    }
    let former = levels.level
    levels.set(level)
    // Use a level that is always logged.
    logger.log(
      level: max(level, .notice), "the log level was changed",
      metadata: ["from": "\(former.rawValue)", "to": "\(level.rawValue)"])
    return self.level()
  }

  private func reload() async -> AdminRoutes.Response {
    do {
      let changed = try await reloader.reload("admin request")
      var text = JSONText()
      text.raw("{\"changed\":[")
      for (index, key) in changed.enumerated() {
        if index > 0 { text.raw(",") }
        text.string(key)
      }
      text.raw("]}\n")
      return AdminRoutes.Response(status: 200, body: text.bytes)
    } catch {
      return .failure(409, "nothing was changed: \(error)")
    }
  }
}
