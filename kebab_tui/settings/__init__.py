"""What the user can set, and where it is read from: defaults < file < environment < flags."""
