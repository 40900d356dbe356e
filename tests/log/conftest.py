"""Property tests are not stopwatches: this machine may be busy with other tests."""

from hypothesis import settings

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
