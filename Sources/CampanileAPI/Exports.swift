// A service implements a protocol of this module with messages of the other one, so every file would import both.
@_exported public import CampanileMessages
