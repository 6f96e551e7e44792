"""Drawings are compared with what is kept, on any processor."""

from __future__ import annotations

from tests.support.drawings import same_drawing

LINE = '<path d="M{:.14f},15 L2.5,3"/>'


def test_the_last_digits_of_a_number_make_no_other_drawing() -> None:
    assert same_drawing(LINE.format(30.05627965070912), LINE.format(30.05627965070999))
    assert same_drawing(LINE.format(30.05), LINE.format(30.05).replace("L2.5,3", "L2.5,2.99999999999997"))


def test_another_number_another_text_or_one_more_number_make_another_drawing() -> None:
    drawn = LINE.format(30.05)
    assert not same_drawing(drawn, LINE.format(30.06))
    assert not same_drawing(drawn, drawn.replace("L2.5", "L3"))
    assert not same_drawing(drawn, drawn.replace("path", "line"))
    assert not same_drawing(drawn, drawn.replace("L2.5,3", "L2.5,3.5"))
