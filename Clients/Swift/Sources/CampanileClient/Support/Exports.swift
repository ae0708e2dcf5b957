// An app imports one module for each service; errors, options and the types of fields are part of every call.
@_exported public import CampanileBase
@_exported public import CampanileCall
@_exported public import CampanileCodec
