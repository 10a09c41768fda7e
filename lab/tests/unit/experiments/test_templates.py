import pytest

from cbnet_lab.experiments.templates import MissingValueError, render

ROWS = [{"case": "I = 2", "gain": 0.1}, {"case": "I = 5", "gain": 0.25}]


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{share:.0%} of {count:,}", "50% of 1,200"),
        ("{us:duration}, {count:number}, {factor:excess}", "1.2 ms, 1,200, 10%"),
        ("{best.gain:.2f} at {ends.1}", "0.25 at 8"),
        ("gain: {rows:{gain:.0%} ({case})}", "gain: 10% (I = 2), 25% (I = 5)"),
        ("{rows:{case}, {gain}}", "I = 2, 0.1; I = 5, 0.25"),
        ("{ends:,}", "4, 8"),
        ("none:{empty: {case}}", "none:"),
        ("{{networking}}", "{networking}"),
    ],
)
def test_fields_are_replaced(template, text):
    values = {
        "share": 0.5, "count": 1200, "us": 1200.0, "factor": 1.1, "best": ROWS[1], "ends": [4, 8], "rows": ROWS, "empty": [],
    }  # fmt: skip
    assert render(template, values) == text


def test_field_without_a_value_is_an_error_or_a_text():
    with pytest.raises(MissingValueError):
        render("{best.gain:.0%}", {"best": None})
    assert render("up to {filters:,}", {"filters": None}, missing="none") == "up to none"
