"""Go MirrorMaker's command line and files."""
