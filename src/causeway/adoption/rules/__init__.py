"""Pure rules of an adoption. They import only core and the shared rules."""
