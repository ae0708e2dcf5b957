/// An invalid configuration. An executable prints `message` as one line and exits with 78 (`EX_CONFIG`).
///
/// `message` names the setting, its origin and the allowed values. It never contains the value of a secret.
public struct ConfigurationError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of the error, as an opaque code.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    enum Value: String {
      case unknownSetting, unexpectedArgument, invalidValue, missingValue, conflictingSettings, unreadableFile
      case insecureFile, secretOnCommandLine, credentialMissing, encryptionMissing, needsRestart, undeclaredSetting
    }
    let value: Value

    /// A flag or file key that this executable does not declare.
    public static let unknownSetting = Self(value: .unknownSetting)
    /// An argument that is not a flag.
    public static let unexpectedArgument = Self(value: .unexpectedArgument)
    /// A value of the wrong type or out of range.
    public static let invalidValue = Self(value: .invalidValue)
    /// A required setting without a value, or a flag without one.
    public static let missingValue = Self(value: .missingValue)
    /// Contradictory settings, or a setting that is given twice.
    public static let conflictingSettings = Self(value: .conflictingSettings)
    /// A configuration or secret file that cannot be read or parsed.
    public static let unreadableFile = Self(value: .unreadableFile)
    /// A private file that group or others may access.
    public static let insecureFile = Self(value: .insecureFile)
    /// A secret given where others can read it: on the command line or in the configuration file.
    public static let secretOnCommandLine = Self(value: .secretOnCommandLine)
    /// Listening beyond loopback without a credential.
    public static let credentialMissing = Self(value: .credentialMissing)
    /// Listening beyond loopback in plaintext.
    public static let encryptionMissing = Self(value: .encryptionMissing)
    /// A change to a setting that cannot be applied at runtime.
    public static let needsRestart = Self(value: .needsRestart)
    /// Access by code to a setting that the executable does not declare, or with the wrong type.
    public static let undeclaredSetting = Self(value: .undeclaredSetting)

    public var description: String { value.rawValue }
  }

  public var code: Code
  /// The key of the setting, for example `log-level`; empty if the error does not concern a single setting.
  public var key: String
  /// A human-readable line.
  public var message: String

  public init(code: Code, key: String, message: String) {
    self.code = code
    self.key = key
    self.message = message
  }

  public var description: String { message }
}
