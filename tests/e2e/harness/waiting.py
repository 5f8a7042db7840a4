"""Waiting for something that another process does, with a deadline and a reason when it passes."""

import time

# A test that waits this long has failed, however slow or loaded the machine is. Nobody measures
# by it: what is awaited is seen at once.
PATIENCE = 180.0


class TooLate(AssertionError):
    """The deadline passed; the message says what was awaited and what was seen last."""


def until(what, look, *, pause=0.05):
    """Calls `look` until it gives something true, and gives that back."""
    deadline = time.monotonic() + PATIENCE
    while True:
        seen = look()
        if seen:
            return seen
        if time.monotonic() > deadline:
            raise TooLate(f"waited {PATIENCE} s for {what}; last seen: {seen!r}")
        time.sleep(pause)
