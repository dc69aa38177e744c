"""The native carrier: records go from consumer to producer without becoming Python objects."""
