"""`causeway run`: the slice loop, the driver, and the status it publishes."""
