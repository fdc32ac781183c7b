"""Settings: defaults, then the settings file, then the command line, resolved once into one frozen value."""

from sandbox.config.files import SettingsFile, find_settings_file
from sandbox.config.resolve import resolve_settings
from sandbox.config.settings import AllowRule, Budget, Settings, Timeouts

__all__ = [
    "AllowRule",
    "Budget",
    "Settings",
    "SettingsFile",
    "Timeouts",
    "find_settings_file",
    "resolve_settings",
]
