// TestClock, which users' tests have as well.
@_exported public import CampanileTesting
