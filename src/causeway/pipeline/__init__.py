"""The only room that talks to Spark: session, slice, relay."""
