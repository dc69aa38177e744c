"""Configuration: TOML, over it the environment, over that `-X`; secrets by reference."""

from causeway.config.loading import load, settings_of
from causeway.config.schema import ClusterSettings, MirrorSettings, Settings, SparkSettings

__all__ = ["ClusterSettings", "MirrorSettings", "Settings", "SparkSettings", "load", "settings_of"]
