"""Days that Causeway must survive: what is written and read on them, and who decides how it went."""
