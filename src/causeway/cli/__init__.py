"""The command line: parses options, calls the features, prints results."""
