"""Go plugins of kaf-relay as filters: the process that loads a plugin, and the toolchain that builds it."""
