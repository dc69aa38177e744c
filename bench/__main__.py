"""`python -m bench`."""

if __name__ == "__main__":
    # Spawned processes import this file again, and do not need the command's imports.
    import sys

    from bench.command import main

    sys.exit(main())
