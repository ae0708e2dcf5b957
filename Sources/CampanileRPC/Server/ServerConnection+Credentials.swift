import CampanileBase
import NIOCore

// The limits of a peer without a credential, and the effects of presenting one.
extension ServerConnection {
  /// The maximum size of an unfinished frame that needs no reservation.
  static let unreservedBytesMax = 4096

  /// Applies the limits of a peer without a credential.
  func treatAsStranger() {
    isStranger = true
    judgeNextLongFrame()
    timing.frameTimeoutMs = min(core.limits.strangerFrameTimeoutMs, core.limits.frameTimeoutMs)
  }

  /// Marks the connection as trusted: the peer knows the internal token.
  func trust() {
    state.trust()
    // A trusted connection carries many callers: a certificate's principal does not apply to their calls.
    (principal, credential) = (nil, nil)
    hasOwnCredential = true
    identified(as: nil)
    ticket?.trusted()
  }

  /// Verifies `rpc.prove`, the client's part of the exchange that its nonce in `rpc.hello` began. There is only one
  /// attempt.
  func prove(_ id: CallID, _ range: Range<Int>?, _ frame: UnsafeRawBufferPointer) {
    guard let challenge else {
      return reply(
        id: id, batch: nil,
        error: RPCError(
          .failedPrecondition, "rpc.prove requires a prior rpc.hello with a nonce", reason: "CHALLENGE_MISSING",
          processed: false))
    }
    self.challenge = nil
    guard challenge.accepts(ProveParams(frame, range).proof) else {
      return close(InternalTokenAuthenticator.wrongToken, id: id)
    }
    trust()
    let result = "{\"maxConcurrentCalls\":\(state.executingMax),\"maxControlFrames\":\(state.controlFramesMax)}"
    Array(result.utf8).withUnsafeBytes { reply(id: id, batch: nil, result: $0) }
  }

  /// Uses a credential for all calls of the connection that bring no other.
  func adopt(_ presented: Principal, _ object: AnyObject?) {
    (principal, credential) = (presented, object)
    hasOwnCredential = true
    identified(as: presented.name)
  }

  /// Adopts a client certificate: the handshake is complete once the client's first bytes arrive.
  func readOfStranger() {
    identifyByCertificate()
  }

  // MARK: budgets

  /// Reserves the bytes of an unfinished frame, or of frames that wait. Trusted connections need no reservation.
  func reserveWaiting() {
    guard core.asksForCredentials, !isClosing else { return }
    let isLong = decoder.heldBytes > Self.unreservedBytesMax && !state.isTrusted
    do throws(WaitingBytesBudget.Fault) {
      // The storage grows by doubling; the excess is the allocator's, not the caller's.
      let sizeBytes = isLong ? min(decoder.storageBytes, core.limits.frameBytesMax + 4) : 0
      try waiting.reserve(sizeBytes, for: holder, isStranger: isStranger, in: core.configuration.waitingBytes)
    } catch {
      let whose = error == .holder ? "the caller's share of the bytes that may wait" : "the bytes that may wait"
      close(
        RPCError(
          .resourceExhausted, "\(whose) in this process is used up by unfinished requests",
          reason: "WAITING_BYTES_EXCEEDED", retryAfterMs: 1000, processed: false))
    }
  }

  /// Reserves a result that is long or queued behind others. Returns the error to send instead if the budget is
  /// exceeded.
  func reserveUnread(adding sizeBytes: Int) -> RPCError? {
    guard core.asksForCredentials, !state.isTrusted, sizeBytes > longResultBytes || !isWritable else { return nil }
    do throws(WaitingBytesBudget.Fault) {
      try unread.reserve(unread.reservedBytes + sizeBytes, for: holder, in: core.configuration.unreadBytes)
      return nil
    } catch { return error.slowConsumer }
  }

  /// Lowers the reservation to the bytes that the system has not accepted yet.
  func releaseUnread() { unread.lower(to: queuedBytes + outgoing.readableBytes, in: core.configuration.unreadBytes) }

  /// Reserves all bytes that the peer leaves unread, including short results. A peer that reads half of them between
  /// two checks is not slow.
  func checkUnread() {
    guard core.asksForCredentials, !state.isTrusted else { return }
    let queued = queuedBytes
    defer { queuedBytesBefore = queued }
    let isStuck = queued > 0 && queuedBytesBefore > 0 && queued >= queuedBytesBefore / 2
    guard isStuck else { return unread.lower(to: queued, in: core.configuration.unreadBytes) }
    do throws(WaitingBytesBudget.Fault) {
      try unread.reserve(queued, for: holder, in: core.configuration.unreadBytes)
    } catch {
      close(error.slowConsumer)
    }
  }

  // MARK: time

  /// Closes the connection to make room for another one.
  func giveWay() {
    close(
      RPCError(
        .resourceExhausted, "the server is at its limit of connections, and this one has presented no credential",
        reason: "TOO_MANY_CONNECTIONS", retryAfterMs: 1000, processed: false))
  }

  /// Ends a connection whose certificate has expired, or that has been without a credential for too long.
  func checkCredential(now: NIODeadline) {
    if isStranger { identifyByCertificate(onlyIfPresent: true) }
    if !isStranger { timing.frameTimeoutMs = core.limits.frameTimeoutMs }
    if let certificateEnd, now >= certificateEnd {
      return close(
        RPCError(
          .unauthenticated, "the client's certificate has expired: use a new one", reason: "CERTIFICATE_EXPIRED",
          processed: false))
    }
    guard core.asksForCredentials, !hasOwnCredential else { return }
    let idle = now - max(credentialAt ?? openedAt, openedAt)
    guard idle > .milliseconds(core.limits.strangerIdleMs) else { return }
    // The calls of a caller that presented a credential may continue, including streams.
    if credentialAt != nil, !state.openCalls.isEmpty { return }
    guard idle > .milliseconds(core.limits.strangerIdleMs + core.limits.strangerFrameTimeoutMs) else {
      return startDrain()
    }
    close(
      RPCError(
        .unauthenticated, "no credential was presented within \(core.limits.strangerIdleMs) ms",
        reason: "CREDENTIAL_TIMEOUT", processed: false))
  }
}
