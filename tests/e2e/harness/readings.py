"""What a daemon's history has of the single seconds, as it was read."""

import time


def rfc3339(second):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(second))


def seconds_of(daemon, begin, end, selector="cpu.time.all{mode=idle}", form="--raw"):
    """{second: value} of a selector's only series, between two times in seconds; counters as they
    are, unless `form` (--rate) asks for something else."""
    answer = daemon.dyno("metrics", "query", selector, form, "--from", rfc3339(begin), "--to",
                         rfc3339(end), "--step", "1s", "--json")
    assert answer.code == 0, answer
    (series,) = answer.json["results"][0]["series"]
    first = answer.json["begin_ms"] // 1000
    return {first + i: value for i, value in enumerate(series["values"]) if value is not None}
