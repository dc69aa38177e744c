"""What people see: tables, lines, logs. Imports model alone."""
