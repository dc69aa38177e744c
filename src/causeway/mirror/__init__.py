"""What a user asks for: run, check, verify."""
