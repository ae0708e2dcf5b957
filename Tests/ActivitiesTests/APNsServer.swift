import Foundation
import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOPosix
import NIOSSL
import Synchronization
import TestSupport

/// A scripted HTTP/2 server over TLS on this machine. It implements none of APNs' rules.
final class APNsServer: Sendable {
  enum Action: Sendable {
    case answer(Int, String)
    case answerWithChannel(Int, String)
    case reset(HTTP2ErrorCode)
    /// Responds and accepts no further streams: those above this one count as not processed.
    case answerAndGoAway(Int)
    case closeConnection
    case silence
  }

  struct Seen: Sendable, Hashable {
    var headers: [String: String]
    var body: String
    var connection: Int
  }

  private struct State {
    var seen: [Seen] = []
    var connections = 0
    var script: @Sendable (Seen) -> Action = { _ in .answer(200, "") }
  }

  let certificatePath: String
  let port: Int
  private let channel: any Channel
  private let state: SharedState

  private final class SharedState: Sendable {
    let value = Mutex(State())
  }

  static func start(
    folder: String, port: Int = 0, streamsMax: Int = 100,
    script: @escaping @Sendable (Seen) -> Action = { _ in .answer(200, "") }
  ) async throws -> APNsServer {
    let (certificate, key) = ("\(folder)/cert.pem", "\(folder)/key.pem")
    if !FileManager.default.fileExists(atPath: certificate) {
      try ExternalProgram.makeCertificate(certificate, key: key, names: "DNS:localhost,IP:127.0.0.1")
    }
    var tls = TLSConfiguration.makeServerConfiguration(
      certificateChain: try NIOSSLCertificate.fromPEMFile(certificate).map { .certificate($0) },
      privateKey: .privateKey(try NIOSSLPrivateKey(file: key, format: .pem)))
    tls.applicationProtocols = ["h2"]
    let context = try NIOSSLContext(configuration: tls)
    let state = SharedState()
    state.value.withLock { $0.script = script }
    let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let number = state.value.withLock { state in
            state.connections += 1
            return state.connections
          }
          let sync = channel.pipeline.syncOperations
          try sync.addHandler(NIOSSLServerHandler(context: context))
          try sync.addHandler(
            NIOHTTP2Handler(
              mode: .server, initialSettings: [HTTP2Setting(parameter: .maxConcurrentStreams, value: streamsMax)]))
          try sync.addHandler(Handler(state: state, number: number))
        }
      }
      .bind(host: "127.0.0.1", port: port).get()
    return APNsServer(certificatePath: certificate, channel: channel, state: state)
  }

  private init(certificatePath: String, channel: any Channel, state: SharedState) {
    self.certificatePath = certificatePath
    self.channel = channel
    self.state = state
    port = channel.localAddress?.port ?? 0
  }

  var seen: [Seen] { state.value.withLock { $0.seen } }
  var connectionCount: Int { state.value.withLock { $0.connections } }
  func script(_ script: @escaping @Sendable (Seen) -> Action) { state.value.withLock { $0.script = script } }
  func stop() async { try? await channel.close() }

  private final class Handler: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    private struct Request {
      var headers: [String: String]
      var body = ""
    }

    private let state: SharedState
    private let number: Int
    private var requests: [HTTP2StreamID: Request] = [:]
    private var isGoing = false

    init(state: SharedState, number: Int) {
      self.state = state
      self.number = number
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let frame = unwrapInboundIn(data)
      switch frame.payload {
      case .headers(let payload):
        let fields = payload.headers.map { ($0.name, $0.value) }
        requests[frame.streamID] = Request(headers: Dictionary(fields) { $1 })
        if payload.endStream { act(frame.streamID, context) }
      case .data(let payload):
        if case .byteBuffer(let buffer) = payload.data { requests[frame.streamID]?.body += String(buffer: buffer) }
        if payload.endStream { act(frame.streamID, context) }
      default: break
      }
    }

    private func act(_ id: HTTP2StreamID, _ context: ChannelHandlerContext) {
      guard let request = requests.removeValue(forKey: id), !isGoing else { return }
      let seen = Seen(headers: request.headers, body: request.body, connection: number)
      let action = state.value.withLock { state in
        state.seen.append(seen)
        return state.script(seen)
      }
      switch action {
      case .answer(let status, let body): answer(id, status, body, context)
      case .answerWithChannel(let status, let channel): answer(id, status, "", context, channel: channel)
      case .reset(let code):
        context.writeAndFlush(wrapOutboundOut(HTTP2Frame(streamID: id, payload: .rstStream(code))), promise: nil)
      case .answerAndGoAway(let status):
        isGoing = true
        answer(id, status, "", context)
        let away = HTTP2Frame(
          streamID: .rootStream, payload: .goAway(lastStreamID: id, errorCode: .noError, opaqueData: nil))
        context.writeAndFlush(wrapOutboundOut(away), promise: nil)
      case .closeConnection: context.close(promise: nil)
      case .silence: break
      }
    }

    private func answer(
      _ id: HTTP2StreamID, _ status: Int, _ body: String, _ context: ChannelHandlerContext, channel: String? = nil
    ) {
      var headers = HPACKHeaders([(":status", "\(status)"), ("apns-id", "x")])
      if let channel { headers.add(name: "apns-channel-id", value: channel) }
      let head = HTTP2Frame.FramePayload.Headers(headers: headers, endStream: body.isEmpty)
      context.write(wrapOutboundOut(HTTP2Frame(streamID: id, payload: .headers(head))), promise: nil)
      if !body.isEmpty {
        let data = HTTP2Frame.FramePayload.Data(data: .byteBuffer(ByteBuffer(string: body)), endStream: true)
        context.write(wrapOutboundOut(HTTP2Frame(streamID: id, payload: .data(data))), promise: nil)
      }
      context.flush()
    }
  }
}
