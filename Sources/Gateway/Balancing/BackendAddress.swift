import CampanileRPC
import NIOCore

/// One address of a backend as one event loop sees it. Used on that loop only.
final class BackendAddress {
  /// 0 to 15; another address has it when this one leaves.
  let index: Int
  /// Its place among the addresses that a call has tried.
  var bit: UInt16 { 1 << UInt16(truncatingIfNeeded: index) }
  let client: RPCClient
  private let loop: any EventLoop
  /// Calls of this loop that were started here and have not ended.
  var openCalls = 0
  /// What the server last said of itself over `Health/Watch`.
  private(set) var health = HealthReport.unknown
  private var watch: HealthWatch?
  /// It is no longer among the backend's addresses: it gets no new calls, and finishes those that it has.
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
  /// Whether calls can be expected to be answered here.
  var isServing: Bool { health == .serving && isConnected }

  /// Connects, and watches the server's health from now on.
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

  /// Gets no new calls from now on. `onUnused` is called once, when the last one has ended.
  func leave(onUnused: @escaping () -> Void) {
    isLeaving = true
    self.onUnused = onUnused
    stop()
    callEnded()
  }

  /// One of `openCalls` has ended.
  @inline(__always)
  func callEnded() { if isLeaving, openCalls == 0 { becomeUnused() } }

  private func becomeUnused() {
    onUnused?()
    onUnused = nil
  }

  var text: String { client.configuration.addresses.first?.description ?? "" }
}
