"""Configuration: TOML, over it the environment, over that `-X`; secrets by reference."""

from causeway.config.authentication import SaslSettings, TlsSettings
from causeway.config.loading import load, load_text, settings_of
from causeway.config.mirror import MirrorSettings
from causeway.config.observability import LogSettings, MetricsSettings, WebSettings
from causeway.config.pools import PoolSettings
from causeway.config.schema import ClusterSettings, Settings, SparkSettings

__all__ = [
    "ClusterSettings",
    "LogSettings",
    "MetricsSettings",
    "MirrorSettings",
    "PoolSettings",
    "SaslSettings",
    "Settings",
    "SparkSettings",
    "TlsSettings",
    "WebSettings",
    "load",
    "load_text",
    "settings_of",
]
