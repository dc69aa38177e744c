"""`python -m bench`."""

if __name__ == "__main__":
    # Processes that are spawned import this file again, and need none of what the command needs.
    import sys

    from bench.command import main

    sys.exit(main())
