"""Rebuilds the bundled model from the package registries; see README.md. The product never imports this package."""
