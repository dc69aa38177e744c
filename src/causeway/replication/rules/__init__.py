"""Pure rules of a running mirror. They import only core and the shared rules."""
