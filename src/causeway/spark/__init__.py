"""The only package that talks to Spark: session and jobs."""
