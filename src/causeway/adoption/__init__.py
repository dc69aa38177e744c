"""`causeway adopt`: takes over a destination that another tool wrote, and checks the handoff by content."""
