"""Measures search quality: golden files, BEIR folders, metrics, reports."""
