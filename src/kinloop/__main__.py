"""`python -m kinloop` is the command `kinloop`."""

from kinloop.cli import main

main()
