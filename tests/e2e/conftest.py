"""Fixtures of the end-to-end tests. They need root (other users, namespaces) and PyTorch."""

import os

import pytest

from harness import places
from harness.daemon import Daemon
from harness.job import Job
from harness.kineto_job import KinetoJob
from harness.namespaces import NetworkNamespace
from harness.users import Script


def _missing():
    if os.geteuid() != 0:
        return "these tests start jobs of several users and namespaces: run them as root"
    if places.venv() is None:
        return ("no virtual environment with PyTorch: ./scripts/test makes one, DYNOLOG_VENV "
                "names another")
    for name in ("dynolog", "dyno"):
        if not (places.binary_directory() / name).exists():
            return f"{places.binary_directory() / name} is not built"
    return None


def pytest_collection_modifyitems(items):
    reason = _missing()
    if reason is None:
        return
    # A run that is meant to prove something must not pass by skipping.
    if os.environ.get("CI", "").lower() in ("1", "true", "yes"):
        pytest.exit(f"end-to-end tests cannot run: {reason}", returncode=2)
    for item in items:
        item.add_marker(pytest.mark.skip(reason=reason))


def _closing(make):
    """A factory whose products are closed in reverse order; the first error is raised last."""
    made = []

    def create(*arguments, **options):
        made.append(make(*arguments, **options))
        return made[-1]

    def close():
        errors = []
        for product in reversed(made):
            try:
                product.close()
            except Exception as error:  # the others must be closed all the same
                errors.append(error)
        if errors:
            raise errors[0]

    return create, close


# The abstract name exists once in a network namespace: only tests of it switch it on.
QUIET = ("--noenable_ipc_monitor", "--no_tcp")


@pytest.fixture
def daemon():
    """Factory: a daemon with these flags, ready."""
    create, close = _closing(Daemon)
    yield lambda *flags, **options: create(*flags, **options).start()
    close()


@pytest.fixture
def unstarted_daemon():
    create, close = _closing(Daemon)
    yield create
    close()


@pytest.fixture
def job():
    """Factory: a training job, not yet ready."""
    create, close = _closing(Job)
    yield create
    close()


@pytest.fixture
def script():
    """Factory: a script of a local user's own (harness/users.py), running."""
    create, close = _closing(Script)
    yield create
    close()


@pytest.fixture
def network():
    namespace = NetworkNamespace()
    yield namespace
    namespace.close()


@pytest.fixture
def scratch():
    """A directory that root owns and everybody may enter."""
    path = places.short_directory()
    yield path
    places.remove(path)


@pytest.fixture
def shared_directory():
    """A socket directory for everybody, as containers share one."""
    path = places.short_directory(0o1777)
    yield path
    places.remove(path)


# --- one daemon and one job for the many tests that only need a job that trains ---

@pytest.fixture(scope="session")
def hall():
    path = places.short_directory(0o1777)
    yield path
    places.remove(path)


@pytest.fixture(scope="session")
def main_job(hall):
    job = Job(socket_dir=hall)
    yield job
    job.close()


@pytest.fixture(scope="session")
def main_daemon(hall):
    daemon = Daemon("--noenable_ipc_monitor", "--port=0", f"--kineto_socket_dir={hall}").start()
    yield daemon
    daemon.close()


@pytest.fixture
def main(main_daemon, main_job):
    """(daemon, job): the job is registered and idle."""
    main_job.wait_ready()
    main_daemon.wait_for(main_job.pid, state="idle")
    return main_daemon, main_job


@pytest.fixture
def main_port(main_daemon):
    from harness.daemon import tcp_port
    return tcp_port(main_daemon)


# --- jobs that misbehave at a test's command ---

@pytest.fixture
def kineto_job(hall):
    """Factory: a process that is traced as `behaviour` says, polling the main daemon."""
    create, close = _closing(KinetoJob)
    yield lambda *arguments, **options: create(hall, *arguments, **options).wait_ready()
    close()


@pytest.fixture
def kineto_job_here(shared_directory):
    """The same, polling whoever serves this test's own directory."""
    create, close = _closing(KinetoJob)
    yield lambda *arguments, **options: create(shared_directory, *arguments,
                                               **options).wait_ready()
    close()
