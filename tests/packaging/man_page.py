#!/usr/bin/env python3
"""docs/man/dynolog.8 from `dynolog --help`: compares it.

DYNOLOG_REFRESH_GOLDENS in the environment has it written anew.

Usage: man_page.py DYNOLOG PAGE
"""

import os
import pathlib
import re
import subprocess
import sys

_HEAD = r""".TH DYNOLOG 8 "" "dynolog {version}" "System Administration"
.SH NAME
dynolog \- watches a host and puts running PyTorch jobs into profiling mode
.SH SYNOPSIS
\fBdynolog\fR [\fIOPTION\fR]...
.SH DESCRIPTION
{description}
.PP
As root it is the host's daemon and uses the places below; as any other user it is that user's own.
.SH OPTIONS
"""

_TAIL = r""".SH SIGNALS
.TP
SIGHUP
Reads the configuration anew and opens the log file anew. What changed, and what counts from the
next start only, is said in the log and by dyno status. A file with an error changes nothing.
.TP
SIGTERM, SIGINT
Ends. Traces that are under way are taken up again by the next daemon.
.SH EXIT STATUS
0 after a signal, 1 when it cannot start, 2 when an option or a file is wrong.
.SH FILES
.TP
/etc/dynolog/dynolog.toml
Options. dynolog \-\-print_config prints those in effect.
.TP
/etc/dynolog.gflags
Flags, one a line; they win over the TOML file.
.TP
/run/dynolog
The socket of requests, the journal of sessions, and the directories with the jobs' sockets.
.TP
/var/lib/dynolog
Traces that nobody fetched, and in history/ the last hours of the metrics.
.TP
/var/log/dynolog
For \-\-log_file and \-\-json_file, which are off; made by the service.
.TP
/etc/libkineto.conf
Read by PyTorch, not by dynolog: how often a job calls.
.SH SEE ALSO
dyno(1), systemctl(1)
"""


def escaped(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text


def sections(help_text):
    """(description, [(heading, [(option, text)])]) of what --help prints."""
    lines = help_text.splitlines()
    description, groups = [], []
    for line in lines[2:]:
        heading = re.fullmatch(r"(\S.*):", line)
        option = re.fullmatch(r"  (-\S.*?)(?:  +(\S.*))?", line)
        if heading:
            groups.append((heading[1], []))
        elif groups and (groups[-1][0] == "Examples" or not line.startswith(" ")):
            if line.strip():
                groups[-1][1].append(["", [line]])
        elif not groups:
            description.append(line)
        elif option:
            groups[-1][1].append([option[1], [option[2] or ""]])
        elif line.strip():
            if groups[-1][1]:
                groups[-1][1][-1][1].append(line.strip())
            else:
                groups[-1][1].append(["", [line.strip()]])
    return description, groups


def page(help_text, version):
    description, groups = sections(help_text)
    text = "\n".join(line for line in description if line and not line.startswith("Usage:"))
    out = [_HEAD.format(version=version, description=escaped(text))]
    for heading, options in groups:
        if heading == "Examples":
            lines = "\n".join(escaped(words[0]) for _, words in options)
            out.append(f".SH EXAMPLES\n.nf\n{lines}\n.fi\n")
            continue
        out.append(f".SS {escaped(heading)}\n")
        for option, words in options:
            body = escaped(" ".join(word for word in words if word))
            out.append(f".TP\n\\fB{escaped(option)}\\fR\n{body}\n" if option else f"{body}\n")
    return "".join(out) + _TAIL


def main():
    program, path = sys.argv[1], pathlib.Path(sys.argv[2])

    def run(flag):
        return subprocess.run([program, flag], check=True, capture_output=True, text=True).stdout

    fresh = page(run("--help"), run("--version").split()[1])
    if os.environ.get("DYNOLOG_REFRESH_GOLDENS"):
        path.write_text(fresh)
    elif not path.exists() or path.read_text() != fresh:
        sys.exit(f"{path} is stale: ./scripts/refresh-goldens writes it anew")


if __name__ == "__main__":
    main()
