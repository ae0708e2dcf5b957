internal import CampanileJSON
internal import CampanileRPC

/// One of the calls that are in flight at once, again and again. Used on its event loop only.
final class LoadLane {
  let index: Int
  unowned let loop: LoadLoop
  /// The bytes of the request, kept to be filled again.
  var request: [UInt8] = []
  var dueNs: Int64 = 0
  var sentNs: Int64 = 0
  var isMeasured = false
  var isBusy = false
  var lastReply: JSONValue?

  // What the RPC driver keeps.
  var call: ClientCall?
  var messagesSent = 0
  var messagesReceived = 0
  var creditToGrant = 0
  var waitsForCredit = false
  /// Counts the lane's calls, so that a timer of an earlier one does nothing.
  var turn = 0

  init(index: Int, loop: LoadLoop) {
    self.index = index
    self.loop = loop
  }

  @inline(__always)
  func finished(_ end: CallEnd, reply: UnsafeRawBufferPointer? = nil) {
    if let reply, loop.usesReply { lastReply = try? JSONValue.parse(Array(reply)) }
    loop.ended(self, end)
  }
}
