#!/usr/bin/env python3
"""What report_skips.py reads out of both kinds of file, and when it fails a run."""

import contextlib
import io
import os
import pathlib
import tempfile
import unittest
from unittest import mock

import report_skips

CTEST = """<testsuite name="ctest" tests="2">
<testcase name="Ran.Well" status="run"><system-out>fine</system-out></testcase>
<testcase name="Left.Out" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
<system-out>[ RUN      ] Left.Out
/src/a_test.cpp:7: Skipped
needs root to
change the user

[  SKIPPED ] Left.Out (0 ms)
</system-out></testcase></testsuite>"""

# As pytest 8 writes it.
PYTEST = """<testsuites><testsuite name="pytest" errors="0" failures="0" skipped="1" tests="2">
<testcase classname="tests.e2e.test_a" name="test_well" time="0.1" />
<testcase classname="tests.e2e.test_a" name="test_left_out[1]" time="0.0">
<skipped type="pytest.skip" message="needs /dev/fuse">/e2e/test_a.py:3: needs /dev/fuse</skipped>
</testcase></testsuite></testsuites>"""


class ReportSkipsTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)

    def file(self, text):
        path = pathlib.Path(self.directory.name) / "tests.xml"
        path.write_text(text)
        return path

    def run_main(self, text, ci, **here):
        """What it says; `here`: whether the named probe finds what it looks for."""
        needs = [(pattern, lambda found=here.get(name, False): found) for pattern, name in
                 ((r"/dev/fuse", "fuse"), (r"\broot\b", "root"))]
        said = io.StringIO()
        with mock.patch.dict(os.environ, {"CI": ci}), contextlib.redirect_stdout(said), \
                mock.patch.object(report_skips, "NEEDS", needs):
            report_skips.main(self.file(text))
        return said.getvalue()

    def test_reasons_of_both_kinds(self):
        self.assertEqual(report_skips.skipped_in(self.file(CTEST)),
                         (2, [("Left.Out", "needs root to change the user")]))
        self.assertEqual(report_skips.skipped_in(self.file(PYTEST)),
                         (2, [("test_left_out[1]", "needs /dev/fuse")]))

    def test_what_could_have_run_fails_where_ci_is_set(self):
        for text, name in ((CTEST, "root"), (PYTEST, "fuse")):
            with self.assertRaisesRegex(SystemExit, "though this machine has what they need"):
                self.run_main(text, "1", **{name: True})
            self.assertIn("1 of 2 tests were skipped", self.run_main(text, "1"))
            self.assertIn("1 of 2 tests were skipped", self.run_main(text, "", **{name: True}))

    def test_a_file_without_tests_is_no_success(self):
        with self.assertRaisesRegex(SystemExit, "has no tests"):
            self.run_main("<testsuites/>", "")

    def test_each_reason_of_the_tree_that_names_a_need_has_a_probe(self):
        for reason in ("needs /dev/fuse", "no memory controller for cgroups here",
                       "control groups cannot be made here: x", "needs systemd-tmpfiles",
                       "no control groups of version 2 here", "needs valgrind",
                       "no real-time priority here: {}",
                       "needs user namespaces of other users", "no loop devices here",
                       "no file can be made immutable here", "mounting is not permitted here"):
            with self.subTest(reason):
                always = [(pattern, lambda: True) for pattern, _ in report_skips.NEEDS]
                self.assertTrue(report_skips.could_have_run(reason, always))
        self.assertFalse(report_skips.could_have_run("this kernel has no SO_PASSRIGHTS"))


if __name__ == "__main__":
    unittest.main()
