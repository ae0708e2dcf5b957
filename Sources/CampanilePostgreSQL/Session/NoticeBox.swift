import CPostgreSQL

/// Receives a session's warnings, which libpq reports through a C callback.
final class NoticeBox {
  /// The last warning's text.
  var warning: String?

  func attach(to handle: OpaquePointer) {
    PQsetNoticeReceiver(
      handle,
      { context, result in
        guard let context, let result,
          let severity = PQresultErrorField(result, Int32(UInt8(ascii: "V"))), String(cString: severity) == "WARNING",
          let message = PQresultErrorField(result, Int32(UInt8(ascii: "M")))
        else { return }
        Unmanaged<NoticeBox>.fromOpaque(context).takeUnretainedValue().warning = String(cString: message)
      }, Unmanaged.passUnretained(self).toOpaque())
  }
}
