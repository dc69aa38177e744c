"""What people see: goals, tables, plots and the page, all made from the samples alone."""
