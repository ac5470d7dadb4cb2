"""`python -m kebab_tui` is `kebab`."""

from kebab_tui.cli import main

main()
