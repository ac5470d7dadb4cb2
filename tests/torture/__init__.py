"""Kills real processes at named points and random times, damages files, and looks at what is left.

python -m tests.torture 200 [SEED] [--jobs N]
"""
