import CampanileCodec
import TestMessages
import Testing

@Suite struct ReadingTests {}
