"""What is said of a Java virtual machine that crashed."""

from __future__ import annotations

from patternbench.lab.software.jvm_crash import crash_lines

REPORT = """\
#
# A fatal error has been detected by the Java Runtime Environment:
#
#  SIGSEGV (0xb) at pc=0x00007f3a5c, pid=77, tid=78
#
# Problematic frame:
# V  [libjvm.so+0x8f1c3d]  KlassFactory::check_shared_class_file_load_hook(InstanceKlass*)+0x9d
#
# If you would like to submit a bug report, please visit:
#   https://bugs.debian.org/openjdk-17
#"""


def test_a_jvm_that_crashed_is_reported_by_its_signal_and_frame_and_not_by_a_frame_of_hashes() -> None:
    signal, frame = crash_lines(["Started Shop", *REPORT.splitlines()])
    assert signal == "SIGSEGV (0xb) at pc=0x00007f3a5c, pid=77, tid=78"
    assert "KlassFactory::check_shared_class_file_load_hook" in frame


def test_a_log_without_a_crash_has_no_words_of_one() -> None:
    assert crash_lines(["# a heading", "no such table"]) == []
