"""Answers read from what the arms found, by a reader that never meets a state (PSS, sections B.4, P and V.4)."""
