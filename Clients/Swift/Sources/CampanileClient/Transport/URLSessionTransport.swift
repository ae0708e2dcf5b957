import CampanileBase
import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Requests over URLSession, with a data delegate on all systems, because Linux has no asynchronous bytes.
///
/// No cookies, caches or redirects: a redirected request would send its credential to another server.
final class URLSessionTransport: HTTPTransport {
  private let session: URLSession
  private let delegate: SessionDelegate

  init(connectionsMax: Int) {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpCookieStorage = nil
    configuration.httpShouldSetCookies = false
    configuration.httpCookieAcceptPolicy = .never
    configuration.urlCache = nil
    configuration.urlCredentialStorage = nil
    configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
    // Streams may be silent for long. Deadlines are the caller's.
    configuration.timeoutIntervalForRequest = Self.silenceSecondsMax
    configuration.httpMaximumConnectionsPerHost = connectionsMax
    delegate = SessionDelegate()
    session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
  }

  deinit { session.invalidateAndCancel() }

  private static let silenceSecondsMax: TimeInterval = 86_400

  func start(_ request: HTTPRequest, _ receiver: any HTTPReceiver) -> any HTTPRequestHandle {
    var sent = URLRequest(url: request.url, timeoutInterval: Self.silenceSecondsMax)
    sent.httpMethod = request.method
    sent.httpShouldHandleCookies = false
    for (name, value) in request.headers { sent.setValue(value, forHTTPHeaderField: name) }
    if !request.body.isEmpty || request.method == "POST" { sent.httpBody = Data(request.body) }
    let task = session.dataTask(with: sent)
    delegate.add(receiver, task.taskIdentifier)
    task.resume()
    return Handle(task: task, transport: self)
  }

  /// A request under way. It keeps the session alive.
  private struct Handle: HTTPRequestHandle {
    let task: URLSessionDataTask
    let transport: URLSessionTransport

    func cancel() { task.cancel() }
  }
}

/// Forwards the events of a session's tasks to their receivers.
private final class SessionDelegate: NSObject, URLSessionDataDelegate {
  private let receivers = Locked<[Int: any HTTPReceiver]>([:])

  func add(_ receiver: any HTTPReceiver, _ task: Int) { receivers.withLock { $0[task] = receiver } }

  private func receiver(_ task: URLSessionTask) -> (any HTTPReceiver)? {
    receivers.withLock { $0[task.taskIdentifier] }
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    let response = response as? HTTPURLResponse
    var headers: [String: String] = [:]
    for (name, value) in response?.allHeaderFields ?? [:] { headers["\(name)"] = "\(value)" }
    receiver(dataTask)?.received(HTTPHead(status: response?.statusCode ?? 0, headers: headers))
    completionHandler(.allow)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    receiver(dataTask)?.received([UInt8](data))
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    let receiver = receivers.withLock { $0.removeValue(forKey: task.taskIdentifier) }
    receiver?.ended(error.map(ConnectionFailure.error))
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    completionHandler(nil)
  }
}
