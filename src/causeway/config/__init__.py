"""Configuration: TOML, over it the environment, over that `-X`; secrets by reference."""

from causeway.config.loading import load, settings_of
from causeway.config.schema import ClusterSettings, MirrorSettings, Settings, SparkSettings
from causeway.config.watching import LogSettings, MetricsSettings, WebSettings

__all__ = [
    "ClusterSettings",
    "LogSettings",
    "MetricsSettings",
    "MirrorSettings",
    "Settings",
    "SparkSettings",
    "WebSettings",
    "load",
    "settings_of",
]
