"""Screens and prompts above the main screen."""
