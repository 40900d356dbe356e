"""`python -m headwater` is `headwater`."""

from headwater.cli.start import main

main()
