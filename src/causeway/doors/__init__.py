"""Front doors: other tools' configurations, translated into Causeway's own."""
