"""What runs inside a Spark task: it replicates one shard's records from source to destination."""
