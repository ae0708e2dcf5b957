/// The type of a statement's parameter, which determines how its values are sent.
enum ParameterType: UInt8 {
  case int2, int4, int8, float4, float8, bool, text, bytea
  /// In the text form, which the server parses.
  case other

  init(_ type: UInt32) {
    switch type {
    case 21: self = .int2
    case 23: self = .int4
    case 20: self = .int8
    case 700: self = .float4
    case 701: self = .float8
    case 16: self = .bool
    // unknown, name, text, bpchar, varchar, json
    case 705, 19, 25, 1_042, 1_043, 114: self = .text
    case 17: self = .bytea
    default: self = .other
    }
  }
}
