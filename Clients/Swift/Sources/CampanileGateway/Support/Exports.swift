// An app imports one module.
@_exported public import CampanileClient
@_exported public import CampanileMessages
