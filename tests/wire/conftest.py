"""Examples may take their time: the machine is shared, and a slow example is no failure."""

from hypothesis import settings

settings.register_profile("headwater", deadline=None)
settings.load_profile("headwater")
