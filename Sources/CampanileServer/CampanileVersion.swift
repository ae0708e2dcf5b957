/// The version of Campanile, of the libraries and of the suite's executables.
///
/// It follows Semantic Versioning 2.0.0 and appears in the metric `campanile_build_info`.
public enum CampanileVersion {
  /// The version without a leading `v`, for example `0.1.0`.
  public static let string = "0.1.0"
}
