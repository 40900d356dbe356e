"""`python -m headwater` is `headwater`."""

from headwater.cli.main import main

main()
