"""The report: goals, tables, plots and the page, made from the samples only."""
