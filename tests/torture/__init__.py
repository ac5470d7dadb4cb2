"""Kills a real ingest at named points and random times, and looks at what is left.

python -m tests.torture 200 [SEED]
"""
