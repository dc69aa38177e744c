"""Output for people and programs: tables, lines, logs, metrics. Imports only core."""
