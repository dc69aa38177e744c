"""An operator's actions on a mirror's ledger: show and move positions, pause, resume."""
