"""User settings: defaults < configuration file < environment < flags."""
