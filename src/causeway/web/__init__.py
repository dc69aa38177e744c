"""What browsers, programs and probes see: the page, its API, health. Imports model, observe and errors alone.

Everything shown is read from a Snapshot; everything done is asked of a Source. Nothing here talks to Kafka.
"""
