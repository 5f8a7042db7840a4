"""Waiting for something that another process does, with a deadline and a reason when it passes."""

import time


class TooLate(AssertionError):
    """The deadline passed; the message says what was awaited and what was seen last."""


def until(what, look, seconds=20.0, pause=0.05):
    """Calls `look` until it gives something true, and gives that back."""
    deadline = time.monotonic() + seconds
    seen = None
    while True:
        seen = look()
        if seen:
            return seen
        if time.monotonic() > deadline:
            raise TooLate(f"waited {seconds} s for {what}; last seen: {seen!r}")
        time.sleep(pause)
