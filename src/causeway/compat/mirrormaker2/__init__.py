"""MirrorMaker 2's mm2.properties."""
