"""`causeway verify`: compares both sides record by record."""
