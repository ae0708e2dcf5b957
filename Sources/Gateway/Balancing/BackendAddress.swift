import CampanileBase
import CampanileRPC
import NIOCore

/// One address of a backend, as seen by one event loop. Used on that loop only.
final class BackendAddress {
  /// 0 to 15; reused once the address has been removed.
  let index: Int
  /// The address's bit in the set of addresses that a call has tried.
  var bit: UInt16 { 1 << UInt16(truncatingIfNeeded: index) }
  let client: RPCClient
  private let loop: any EventLoop
  /// Calls of this loop that were started at the address and have not ended.
  var openCalls = 0
  /// The server's last report over `Health/Watch`.
  private(set) var health = HealthReport.unknown
  private var watch: HealthWatch?
  /// Whether the address has been removed from the backend: it receives no new calls and finishes those in progress.
  private(set) var isLeaving = false
  private var onUnused: (() -> Void)?
  private let onChange: () -> Void

  init(index: Int, client: RPCClient, loop: any EventLoop, onChange: @escaping () -> Void) {
    self.index = index
    self.client = client
    self.loop = loop
    self.onChange = onChange
  }

  var isConnected: Bool { client.isReady(on: loop) }
  /// Whether the server is connected and counts as serving; see `HealthWatch`.
  var isServing: Bool { health == .serving && isConnected }

  /// Connects and starts to watch the server's health.
  func start() {
    guard watch == nil else { return }
    let watch = HealthWatch(client: client, loop: loop) { [unowned self] report in
      guard health != report else { return }
      health = report
      onChange()
    }
    self.watch = watch
    watch.start()
  }

  func stop() {
    watch?.stop()
    watch = nil
  }

  /// Stops new calls to the address. Calls `onUnused` once, when the last call has ended.
  func leave(onUnused: @escaping () -> Void) {
    isLeaving = true
    self.onUnused = onUnused
    stop()
    callEnded()
  }

  /// Runs after a call has ended and was removed from `openCalls`.
  @inline(__always)
  func callEnded() { if isLeaving, openCalls == 0 { becomeUnused() } }

  private func becomeUnused() {
    onUnused?()
    onUnused = nil
  }

  var text: String { client.configuration.addresses.first?.description ?? "" }
}
