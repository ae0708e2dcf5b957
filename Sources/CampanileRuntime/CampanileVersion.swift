/// The suite's version, as every executable reports it.
///
/// `string` follows Semantic Versioning 2.0.0 and is shown by `--version`, the build-info metric and the
/// `agent` member of `rpc.hello`.
public enum CampanileVersion {
  /// The version without a leading `v`, for example `0.1.0`.
  public static let string = "0.1.0"
}
