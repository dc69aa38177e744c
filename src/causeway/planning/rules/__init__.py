"""Pure rules of planning. They import only core and the shared rules."""
