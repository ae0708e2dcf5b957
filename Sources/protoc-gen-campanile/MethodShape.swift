import SwiftProtobuf
import SwiftProtobufPluginLibrary

/// The properties of a method that every language's method table contains, by the names of the generated code.
extension MethodDescriptor {
  var kindName: String {
    switch (clientStreaming, serverStreaming) {
    case (false, false): "unary"
    case (false, true): "serverStreaming"
    case (true, false): "clientStreaming"
    case (true, true): "bidirectional"
    }
  }

  var idempotencyName: String {
    switch options.idempotencyLevel {
    case .idempotencyUnknown: "unknown"
    case .noSideEffects: "noSideEffects"
    case .idempotent: "idempotent"
    }
  }
}
