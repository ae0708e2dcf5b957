import CampanileBase
import CampanileCall
import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Converts failures of connections into errors of calls.
enum ConnectionFailure {
  /// Failures before the request was sent.
  private static let unsent: Set<URLError.Code> = [
    .cannotFindHost, .cannotConnectToHost, .dnsLookupFailed, .notConnectedToInternet, .internationalRoamingOff,
    .callIsActive, .dataNotAllowed,
  ]
  /// Failures that another attempt would meet again.
  private static let lasting: Set<URLError.Code> = [
    .badURL, .unsupportedURL, .secureConnectionFailed, .serverCertificateHasBadDate, .serverCertificateUntrusted,
    .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid, .clientCertificateRejected,
    .clientCertificateRequired,
  ]

  /// Returns UNAVAILABLE with the reason `CONNECTION_LOST`, or `CONNECT_FAILED` for failures that will recur.
  static func error(_ error: any Error) -> RPCError {
    guard let error = error as? URLError else {
      return LocalFailure.connectionLost(String(describing: error), processed: true)
    }
    let cause = error.localizedDescription
    if error.code == .cancelled { return LocalFailure.cancelled() }
    if lasting.contains(error.code) {
      return RPCError(
        .unavailable, "cannot connect: \(cause)", reason: LocalFailure.connectFailed, processed: false)
    }
    return LocalFailure.connectionLost(cause, processed: !unsent.contains(error.code))
  }
}
