"""The explanation panel."""
