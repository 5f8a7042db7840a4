"""HolisticTraceAnalysis, as people install it, reads a delivered directory with every rank."""

import json
import os
import subprocess

import pytest

from harness import places

READ = '''
import json, sys
from hta.trace_analysis import TraceAnalysis
analysis = TraceAnalysis(trace_dir=sys.argv[1])
print(json.dumps({str(rank): len(analysis.t.get_trace(rank)) for rank in analysis.t.get_ranks()}))
'''


def has_hta():
    python, extra = places.torch_python()
    return subprocess.run([*python, "-c", "import hta"], env={**os.environ, **extra},
                          capture_output=True).returncode == 0


@pytest.mark.skipif(not os.environ.get("CI") and not has_hta(),
                    reason="HolisticTraceAnalysis is not installed: ./scripts/test installs it")
def test_every_rank_is_read(daemon, job, shared_directory, scratch):
    own = daemon("--noenable_ipc_monitor", "--no_tcp", f"--kineto_socket_dir={shared_directory}")
    ranks = {}
    for rank in range(2):
        ranks[rank] = job(socket_dir=shared_directory,
                          extra={"RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": str(rank)})
    for rank, started in ranks.items():
        started.wait_ready()
        own.wait_for(started.pid, rank=rank, state="idle")
    out = os.path.join(scratch, "traces")
    answer = own.dyno("gputrace", "--output", out, "--duration-ms", 300, "--json")
    assert answer.code == 0, answer
    python, extra = places.torch_python()
    read = subprocess.run([*python, "-c", READ, out], env={**os.environ, **extra},
                          capture_output=True, text=True, timeout=300)
    assert read.returncode == 0, read.stderr
    found = json.loads(read.stdout.splitlines()[-1])
    assert set(found) == {"0", "1"}, found
    assert all(count > 100 for count in found.values()), found
