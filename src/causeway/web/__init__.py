"""What browsers, programs and probes see: the page, its API, health. Imports only core and errors.

Everything shown is read from a Snapshot; every action goes to a Source. Nothing here talks to Kafka.
"""
