"""A trace of a process that did nothing is delivered, and said to be empty wherever it is shown."""

import json
import os

NOTHING = "nothing ran in the window"


def test_waiting_process_gives_a_trace_that_is_said_to_be_empty(main_daemon, hall, job, scratch):
    daemon = main_daemon
    waiting = job("--pace", "3600", "--no-optimizer", socket_dir=hall).wait_ready()
    daemon.wait_for(waiting.pid, state="idle")
    chosen = ("--pids", waiting.pid, "--duration-ms", 200)
    plain = daemon.dyno("gputrace", *chosen, "--log-file", os.path.join(scratch, "plain.json"))
    assert plain.code == 0, plain
    assert f"pid {waiting.pid}: warning: {NOTHING}" in plain.out, plain
    assert "1 of 1 traces delivered and checked; 1 of them is empty\n" in plain.out, plain

    daemon.wait_for(waiting.pid, state="idle")
    answer = daemon.dyno("gputrace", *chosen, "--iterations", 3, "--json", "--log-file",
                         os.path.join(scratch, "steps.json"))
    assert answer.code == 0, answer
    (update,) = answer.json["processes"]
    assert update["empty"] is True, update
    assert any(note.startswith(NOTHING) for note in update["notes"]), update
    directory, name = os.path.split(update["file"])
    with open(os.path.join(directory, ".dynolog", f"{name}.json")) as file:
        assert any(note.startswith(NOTHING) for note in json.load(file)["notes"])

    shown = daemon.dyno("traces", "show", answer.json["session"])
    assert shown.code == 0 and f"warning: {NOTHING}" in shown.out, shown
    assert "; 1 of them is empty\n" in shown.out, shown
