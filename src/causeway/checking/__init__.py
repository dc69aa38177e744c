"""`causeway check`: reads both sides, writes nothing, reports what would happen."""
