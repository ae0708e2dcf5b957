import CampanileBase
import CampanileCodec
import NIOCore

// Long frames: a server that asks for credentials checks their heads before it buffers the rest.
extension ServerConnection {
  /// Sets the decoder's limit to the length above which a frame's head is checked first.
  func judgeNextLongFrame() {
    isTakingLongFrame = false
    decoder.frameBytesMax = min(core.limits.strangerFrameBytesMax, core.limits.frameBytesMax)
  }

  /// Raises the decoder's limit for a frame within the server's limit, if the peer may send it.
  func takeLongFrame(ofBytes length: UInt32, framesServed: Int, framesMax: Int) {
    let isWhole = decoder.heldBytes - 4 >= Int(length)
    // A complete frame is already buffered, so checking its head would save nothing.
    if isStranger || !state.isTrusted && !isWhole {
      let room = core.limits.strangerFrameBytesMax
      let held = decoder.heldBytes - 4
      timing.frameInProgress(true, completedFrame: framesServed > 0, now: batchTime)
      // Wait until the bytes have doubled, so that a frame that trickles in is not parsed again and again.
      if held < room, held < 2 * judgedHeadBytes { return reserveWaiting() }
      judgedHeadBytes = max(held, 1)
      let head = decoder.withHeldBytes { FrameHead(UnsafeRawBufferPointer(rebasing: $0.dropFirst(4).prefix(room))) }
      if !head.isComplete, !head.isUnreadable, held < room { return reserveWaiting() }
      judgedHeadBytes = 0
      if isStranger, let refusal = identify(by: head, length: length) { return close(refusal) }
      if refusesCall(head) {
        decoder.dropFrame()
        if isWhole { timing.frameInProgress(false, completedFrame: true, now: batchTime) }
        reserveWaiting()
        return pause()
      }
    }
    isTakingLongFrame = !state.isTrusted
    decoder.frameBytesMax = core.limits.frameBytesMax
    take(ByteBuffer(), framesMax: max(1, framesMax - framesServed))
  }

  /// Verifies a stranger's credential in a head. Returns the error to close with if there is no valid one.
  private func identify(by head: FrameHead, length: UInt32) -> RPCError? {
    guard !head.isUnreadable, head.method != nil, let metadata = head.metadata,
      let decision = core.authenticator.authenticate(metadata: metadata, remoteHost: remoteHost)
    else {
      return RPCError(
        .unauthenticated,
        "a frame of \(length) bytes requires a credential: present it in rpc.hello, or put method and metadata before params; "
          + "without one \(core.limits.strangerFrameBytesMax) bytes are accepted",
        reason: "FRAME_NEEDS_CREDENTIAL", processed: false)
    }
    switch decision {
    case .refused(let error): return error
    case .principal(let presented), .credential(let presented, _): identified(as: presented.name)
    case .trusted: identified(as: nil)
    }
    credentialAt = batchTime
    return nil
  }

  /// Starts a call that the dispatcher refuses by its head, and returns true. Requires an id, a method and a
  /// credential.
  private func refusesCall(_ head: FrameHead) -> Bool {
    guard !head.isUnreadable, let id = head.id, var name = head.method, head.metadata != nil || credential != nil else {
      return false
    }
    var metadata = head.metadata ?? [:]
    metadata.removeReserved()
    let call = ServerCall(
      transport: self, id: id, batch: nil, metadata: metadata, isTrusted: false, principal: principal,
      startedAt: batchTime)
    return name.withUTF8 { utf8 in
      let method = UnsafeRawBufferPointer(utf8)
      guard RPCMethod(method, 0..<method.count) == nil, core.dispatcher.refuses(call, method: method) else {
        return false
      }
      let none = UnsafeRawBufferPointer(start: nil, count: 0)
      if let refusal = state.refusal {
        reply(id: id, batch: nil, error: refusal)
      } else if state.open(call, id: id) {
        core.dispatcher.startCall(call, method: method, params: none)
      } else {
        act(on: state.idInUse(id, nowMs: nowMs), none, nil, batch: nil)
      }
      return true
    }
  }
}
