import CampanileBase
internal import Foundation

/// Formats a frame of `campanile top` as lines for a terminal.
package struct TopScreen: Sendable, Hashable {
  /// Width of the terminal in cells. Lines are truncated at this width.
  package var width: Int
  /// Height of the terminal in cells. The methods that do not fit are counted in the last line.
  package var height: Int
  package var isColoured: Bool

  package init(width: Int = 100, height: Int = .max, isColoured: Bool = false) {
    (self.width, self.height, self.isColoured) = (max(40, width), max(10, height), isColoured)
  }

  package func lines(_ frame: TopFrame) -> [String] {
    var lines = [summary(frame)]
    lines += frame.backends.map(backend)
    lines.append("")
    let nameWidth = max(12, width - 62)
    lines.append(
      Terminal.Colour.bold.paint(
        cut(
          pad("METHOD", nameWidth) + right("CALLS/S", 10) + right("ERR/S", 9) + right("P50 ms", 10)
            + right("P99 ms", 10)
            + right("OPEN", 7) + right("TOTAL", 12)), if: isColoured))
    let room = max(1, height - lines.count - 1)
    for method in frame.methods.prefix(room) { lines.append(row(method, nameWidth)) }
    if frame.methods.count > room { lines.append("… and \(frame.methods.count - room) more") }
    return lines
  }

  private func summary(_ frame: TopFrame) -> String {
    var text = "up \(Self.time(frame.uptimeMs)) · \(Self.number(frame.rate)) calls/s · \(Self.number(frame.errorRate)) "
    text += "errors/s · \(frame.openCalls) calls and \(frame.openStreams) streams in progress"
    if let bytes = frame.residentBytes { text += " · \(bytes >> 20) MiB" }
    return Terminal.Colour.bold.paint(cut(text), if: isColoured)
  }

  private func backend(_ backend: BackendStatus) -> String {
    let ready = backend.addresses.filter {
      $0.health == "serving" && $0.isConnected && $0.ejectedForMs == nil && !$0.isLeaving
    }
    let all = backend.addresses.filter { !$0.isLeaving }
    var text = "\(pad(backend.name, 16)) \(backend.isServing ? "serving" : "NOT SERVING")"
    text += "  \(ready.count)/\(all.count) addresses  \(backend.openCalls) calls  \(backend.openStreams) streams"
    if backend.breaker != "closed" { text += "  circuit \(backend.breaker)" }
    let ejected = backend.addresses.filter { $0.ejectedForMs != nil }.map(\.address)
    if !ejected.isEmpty { text += "  ejected: \(ejected.joined(separator: ", "))" }
    let isBad = !backend.isServing || backend.breaker != "closed" || !ejected.isEmpty
    return Terminal.Colour.red.paint(cut(text), if: isColoured && isBad)
  }

  private func row(_ method: TopFrame.Method, _ nameWidth: Int) -> String {
    // Most names share this prefix.
    let name = method.method.replacing(/^campanile\./, with: "")
    var text = pad(name, nameWidth) + right(Self.number(method.rate), 10) + right(Self.number(method.errorRate), 9)
    text +=
      right(method.p50Ms.map(Self.milliseconds) ?? "-", 10) + right(method.p99Ms.map(Self.milliseconds) ?? "-", 10)
    text += right(String(method.open), 7) + right(String(method.total), 12)
    if let code = method.mostError { text += "  \(code)" }
    return Terminal.Colour.yellow.paint(cut(text), if: isColoured && method.errorRate > 0)
  }

  private func cut(_ text: String) -> String { String(Terminal.printable(text).prefix(width)) }
  private func pad(_ text: String, _ count: Int) -> String {
    let text = text.count > count ? "…" + text.suffix(count - 1) : text
    return text + String(repeating: " ", count: max(0, count - text.count))
  }
  private func right(_ text: String, _ count: Int) -> String {
    String(repeating: " ", count: max(1, count - text.count)) + text
  }

  static func number(_ value: Double) -> String { String(format: value < 10 && value > 0 ? "%.1f" : "%.0f", value) }
  static func milliseconds(_ value: Double) -> String { String(format: value < 10 ? "%.3f" : "%.1f", value) }
  static func time(_ ms: Int64) -> String {
    let seconds = ms / 1000
    let clock = String(format: "%02d:%02d:%02d", seconds / 3600 % 24, seconds / 60 % 60, seconds % 60)
    return seconds >= 86_400 ? "\(seconds / 86_400)d \(clock)" : clock
  }
}
