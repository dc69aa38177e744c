"""Pure rules of a comparison. They import only core and the shared rules."""
