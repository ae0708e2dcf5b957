import CampanileRPC
import NIOCore

/// One address of a backend as one event loop sees it. Used on that loop only.
final class BackendAddress {
  let index: Int
  let client: RPCClient
  private let loop: any EventLoop
  /// Calls of this loop that were started here and have not ended.
  var openCalls = 0
  /// What the server last said of itself over `Health/Watch`.
  private(set) var health = HealthReport.unknown
  private var watch: HealthWatch?
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
}
