"""The Python API: what the commands do, without printing and without exiting. `import causeway` offers it.

Each function returns a frozen value or raises an error of `causeway.errors`. The command line calls these
functions, and adds output, signals, the page and exit codes.
"""
