import CampanileBase
import CampanileHTTP
import CampanileRPC
import Gateway
import NIOCore

// The connection's share of the limits of the HTTP port.
extension HTTPConnection {
  /// Acquires a connection slot, or refuses the caller with 503.
  func admit() {
    let bound = NIOLoopBound(self, eventLoop: loop)
    isStranger = true
    do throws(ConnectionLimiter.Refusal) {
      ticket = try frontend.limiter.open(host: Self.host(of: peerAddress)) { [loop] in
        loop.execute { bound.value.giveWay() }
      }
    } catch { refuseUnread(error.rpcError(frontend.limiter), status: 503) }
  }

  /// Releases the connection slot.
  func leave() {
    ticket?.close()
    ticket = nil
    releaseUnread()
  }

  /// Closes because another connection needs the slot. A request in progress may finish.
  private func giveWay() { if exchange == nil { close() } else { quiesce() } }

  // MARK: unread responses

  /// Returns the name of the principal that made the request, or the group of its address.
  func holder(of exchange: HTTPExchange?) -> String {
    exchange?.caller?.principalName ?? addressHolder
  }

  /// Reserves the queued bytes on behalf of the caller whose response is waiting. Ends the connection if the budget is
  /// exhausted.
  ///
  /// - Returns: Whether the budget has room.
  func reserveUnread() -> Bool {
    do throws(WaitingBytesBudget.Fault) {
      try unread.reserve(
        queuedBytes, for: unreadHolder ?? exchange.map { holder(of: $0) } ?? holder, in: frontend.unreadBytesBudget)
      return true
    } catch {
      endUnread(error.slowConsumer)
      return false
    }
  }

  /// Closes the connection. A stream ends with the error first, in case its caller resumes reading.
  private func endUnread(_ error: RPCError) {
    if let exchange, exchange.style.isStream, let call = exchange.call {
      state.endAfterResponse()
      exchange.isUnread = true
      call.abort(error)
      // The abort has written the end of the stream, and the connection closes soon.
      if self.exchange == nil { return }
    }
    callerDisconnected()
    close()
  }

  /// Releases the reservation, because the socket has accepted nearly everything.
  func releaseUnread() {
    unreadHolder = nil
    unread.lower(to: 0, in: frontend.unreadBytesBudget)
  }

  /// Updates the reservation for a caller that does not read, even if its responses are short.
  ///
  /// - Returns: False if this has ended the connection.
  func checkUnread(now: NIODeadline) -> Bool {
    let queued = queuedBytes
    defer { queuedBytesBefore = queued }
    if !isWritable { state.timing.waits(bytes: queued, now: now) }
    // A caller that reads half of the queue between two checks is not slow.
    let isStuck = queued > 0 && queuedBytesBefore > 0 && queued >= queuedBytesBefore / 2
    if isStuck || !isWritable { return reserveUnread() }
    unread.lower(to: queued, in: frontend.unreadBytesBudget)
    return true
  }
}
