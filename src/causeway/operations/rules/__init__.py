"""Pure rules of these commands. They import only core and the shared rules."""
