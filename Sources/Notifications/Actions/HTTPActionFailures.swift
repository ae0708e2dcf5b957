import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// Maps errors of the HTTP client to results of an action.
enum HTTPActionFailures {
  static func result(of error: any Error) -> HTTPActionResult {
    switch error {
    case is CancellationError: .failure(.timeout, "the server did not respond in time")
    case let error as HTTPClientError: result(of: error)
    case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError:
      .failure(.tlsFailed, "no trusted TLS connection could be established")
    case let error as ChannelError:
      if case .connectTimeout = error { connectFailed } else { connectionClosed }
    case is NIOConnectionError: connectFailed
    case let error as IOError: unreachable.contains(error.errnoCode) ? connectFailed : connectionClosed
    case is HTTPParserError: .failure(.responseInvalid, "the server's response is not HTTP")
    default: .failure(.requestFailed, "the request failed")
    }
  }

  private static let connectFailed = HTTPActionResult.failure(.connectFailed, "the server cannot be reached")
  private static let connectionClosed = HTTPActionResult.failure(
    .connectionClosed, "the server closed the connection before it responded")

  /// With these errors there was no connection, so nothing has been sent.
  private static let unreachable: Set<CInt> = [
    ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, ETIMEDOUT, EADDRNOTAVAIL, EHOSTDOWN, ENETDOWN, EACCES, EPERM,
  ]

  private static func result(of error: HTTPClientError) -> HTTPActionResult {
    switch error {
    case .deadlineExceeded, .readTimeout, .writeTimeout, .cancelled:
      .failure(.timeout, "the server did not respond in time")
    case .connectTimeout, .getConnectionFromPoolTimeout: connectFailed
    case .tlsHandshakeTimeout: .failure(.tlsFailed, "the TLS handshake took too long")
    case .remoteConnectionClosed, .uncleanShutdown: connectionClosed
    case .invalidURL, .emptyHost, .emptyScheme: .failure(.urlInvalid, "the URL cannot be called")
    default: .failure(.requestFailed, "the request failed: \(error.shortDescription)")
    }
  }
}
