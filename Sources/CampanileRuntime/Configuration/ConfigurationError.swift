/// A configuration that cannot be used; an executable prints `message` as one line and exits with 78 (`EX_CONFIG`).
///
/// `message` names the setting, the place it came from and what is allowed. It never holds the value of a secret.
public struct ConfigurationError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What is wrong, as an opaque code.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    enum Value: String {
      case unknownSetting, unexpectedArgument, invalidValue, missingValue, conflictingSettings, unreadableFile
      case insecureFile, secretOnCommandLine, credentialMissing, encryptionMissing, needsRestart, undeclaredSetting
    }
    let value: Value

    /// A flag or file key that this executable does not declare.
    public static let unknownSetting = Self(value: .unknownSetting)
    /// An argument that is no flag.
    public static let unexpectedArgument = Self(value: .unexpectedArgument)
    /// A value of the wrong type or out of range.
    public static let invalidValue = Self(value: .invalidValue)
    /// A required setting without a value, or a flag without one.
    public static let missingValue = Self(value: .missingValue)
    /// Two settings, or one twice, that contradict each other.
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
    /// A setting that only a new process takes up was changed under a running one.
    public static let needsRestart = Self(value: .needsRestart)
    /// Code asked for a setting that the executable does not declare, or by the wrong type.
    public static let undeclaredSetting = Self(value: .undeclaredSetting)

    public var description: String { value.rawValue }
  }

  public var code: Code
  /// The setting's key, for example `log-level`; empty when no single setting is to blame.
  public var key: String
  /// One line for a person.
  public var message: String

  public init(code: Code, key: String, message: String) {
    self.code = code
    self.key = key
    self.message = message
  }

  public var description: String { message }
}
