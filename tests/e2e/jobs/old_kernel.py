"""Runs a command as a kernel of before Linux 6.5 would: COMMAND ARGUMENTS.

A seccomp filter, which children inherit, answers what is newer as such a kernel does: no
SO_PEERPIDFD, SO_PASSPIDFD (6.5), SO_PASSRIGHTS (6.16), and no ioctl on a pidfd (6.11 and later).
"""

import ctypes
import errno
import os
import struct
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, MODE_FILTER = 38, 22, 2
LOAD, EQUAL, MASKED, RETURN = 0x20, 0x15, 0x54, 0x06  # BPF: ld abs, jeq, and, ret
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
ARCH_X86_64 = 0xC000003E
IOCTL, SETSOCKOPT, GETSOCKOPT = 16, 54, 55
NUMBER, ARCH, SECOND, THIRD = 0, 4, 24, 32  # offsets in struct seccomp_data
SO_PASSPIDFD, SO_PEERPIDFD, SO_PASSRIGHTS = 76, 77, 83
PIDFS_IOCTL = 0xFF  # the letter of its numbers


def program():
    """(operation, value, label when equal): straight down otherwise."""
    lines = [
        (LOAD, ARCH), (EQUAL, ARCH_X86_64, "", "allow"),
        (LOAD, NUMBER), (EQUAL, IOCTL, "ioctl"), (EQUAL, SETSOCKOPT, "option"),
        (EQUAL, GETSOCKOPT, "option", "allow"),
        "option", (LOAD, THIRD), (EQUAL, SO_PASSPIDFD, "no option"),
        (EQUAL, SO_PEERPIDFD, "no option"), (EQUAL, SO_PASSRIGHTS, "no option", "allow"),
        "ioctl", (LOAD, SECOND), (MASKED, 0xFF00), (EQUAL, PIDFS_IOCTL << 8, "no ioctl", "allow"),
        "no option", (RETURN, ERRNO | errno.ENOPROTOOPT),
        "no ioctl", (RETURN, ERRNO | errno.ENOTTY),
        "allow", (RETURN, ALLOW),
    ]
    at, instructions = {}, []
    for line in lines:
        if isinstance(line, str):
            at[line] = len(instructions)
        else:
            instructions.append(line)
    packed = b""
    for number, (operation, value, *labels) in enumerate(instructions):
        jumps = [at[label] - number - 1 if label else 0 for label in labels] + [0, 0]
        packed += struct.pack("<HBBI", operation, jumps[0], jumps[1], value)
    return packed


code = ctypes.create_string_buffer(program())
head = struct.pack("<HxxxxxxQ", (len(code) - 1) // 8, ctypes.addressof(code))
libc = ctypes.CDLL(None, use_errno=True)
for arguments in ((PR_SET_NO_NEW_PRIVS, 1), (PR_SET_SECCOMP, MODE_FILTER)):
    last = ctypes.c_char_p(head) if arguments[0] == PR_SET_SECCOMP else 0
    if libc.prctl(*arguments, last, 0, 0) != 0:
        raise SystemExit(f"prctl: {os.strerror(ctypes.get_errno())}")
os.execvp(sys.argv[1], sys.argv[1:])
