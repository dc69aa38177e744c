"""`python -m causeway`."""

from causeway.cli.main import main

main()
