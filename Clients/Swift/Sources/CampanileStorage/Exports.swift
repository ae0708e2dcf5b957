// Messages consist of the codec's types, too.
@_exported public import CampanileCodec
