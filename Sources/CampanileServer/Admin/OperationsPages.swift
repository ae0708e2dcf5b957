/// The pages of every executable: `/metrics`, `/healthz` and `/readyz`.
///
/// - `/metrics`: the Prometheus text format 0.0.4.
/// - `/healthz`: 200 as long as the process responds.
/// - `/readyz`: 200 if every readiness check passes and the server is not draining, otherwise 503. The body is a JSON
///   object `{"status":"ready","checks":{"server":"ok",…}}`.
struct OperationsPages: Sendable {
  static let paths = ["/metrics", "/healthz", "/readyz"]

  let metrics: MetricsRegistry
  let readiness: ReadinessRegistry

  /// Returns the page at `path`; nil for other paths.
  func page(_ path: String) async -> AdminRoutes.Response? {
    guard path == "/metrics" else { return await health(path) }
    return AdminRoutes.Response(
      status: 200, contentType: PrometheusText.contentType, body: Array(await metrics.exposition().utf8))
  }

  /// Returns the inexpensive pages `/healthz` and `/readyz`; nil for other paths.
  func health(_ path: String) async -> AdminRoutes.Response? {
    switch path {
    case "/healthz":
      return AdminRoutes.Response(status: 200, contentType: "text/plain; charset=utf-8", body: Array("ok\n".utf8))
    case "/readyz":
      let report = await readiness.report()
      return AdminRoutes.Response(status: report.isReady ? 200 : 503, body: Array(Self.body(of: report).utf8))
    default: return nil
    }
  }

  /// Handles a request on the admin port; returns nil for other paths.
  @Sendable
  func answer(_ request: AdminRoutes.Request) async -> AdminRoutes.Response? {
    guard Self.paths.contains(request.path) else { return nil }
    guard request.method == "GET" else { return .failure(405, "the path accepts only GET") }
    return await page(request.path)
  }

  private static func body(of report: ReadinessRegistry.Report) -> String {
    var text = JSONText()
    text.raw("{\"status\":")
    text.string(report.isReady ? "ready" : "not ready")
    text.raw(",\"checks\":{")
    for (index, (name, problem)) in report.problems.sorted(by: { $0.key < $1.key }).enumerated() {
      if index > 0 { text.raw(",") }
      text.string(name)
      text.raw(":")
      text.string(problem ?? "ok")
    }
    text.raw("}}\n")
    return String(decoding: text.bytes, as: UTF8.self)
  }
}
