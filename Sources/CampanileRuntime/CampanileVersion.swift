/// The version of the suite, which every executable reports.
///
/// It follows Semantic Versioning 2.0.0 and appears in `--version`, the build-info metric and the `agent` member of
/// `rpc.hello`.
public enum CampanileVersion {
  /// The version without a leading `v`, for example `0.1.0`.
  public static let string = "0.1.0"
}
