"""Settings from the environment: `RATING_<FIELD NAME>`, each with its unit in the name, bounds and a description.

`load_settings` is the way in for the program, `Settings(...)` with keyword arguments the one for tests. Where a value
comes from, first hit wins: keyword argument, environment variable, the file that `RATING_<SECRET>_FILE` names (secrets
only), a file named after the variable in the folder `RATING_SECRETS_DIR`, the default.
"""

from worker.settings.loading import (
    SECRETS_DIR,
    Settings,
    SettingsError,
    load_settings,
    settings_table,
    unknown_variables,
)
from worker.settings.values import DatabaseUrl, Delivery, LogFormat, LogLevel, SaslMechanism, SecurityProtocol

__all__ = [
    "SECRETS_DIR",
    "DatabaseUrl",
    "Delivery",
    "LogFormat",
    "LogLevel",
    "SaslMechanism",
    "SecurityProtocol",
    "Settings",
    "SettingsError",
    "load_settings",
    "settings_table",
    "unknown_variables",
]
