// An app imports one module: errors and options are part of every call, and messages are what it sends.
@_exported public import CampanileBase
@_exported public import CampanileCall
@_exported public import CampanileCodec
@_exported public import CampanileMessages
