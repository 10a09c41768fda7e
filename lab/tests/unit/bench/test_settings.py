from pathlib import Path

import pytest

from cbnet.errors import InputError
from cbnet_lab.bench.bench_input import with_settings
from cbnet_lab.workload import Forwarding2001, Forwarding2002, filters


def test_settings_have_the_names_and_types_of_the_paper():
    assert with_settings(Forwarding2002(F=50), ["zipf=0.5", "c_h=3", "D_t=20,80"]) == Forwarding2002(
        F=50, zipf=0.5, c_h=3, D_t=(20.0, 80.0)
    )
    assert with_settings(Forwarding2001(), ["AN=4,4", "SV=7", "dictionary=words.txt"]) == Forwarding2001(
        AN=(4, 4), SV=7, dictionary=Path("words.txt")
    )


def test_filters_per_interface_replace_a_fixed_number_of_filters():
    parameters = with_settings(Forwarding2002(F=1000, I=20), ["f_l=3", "f_h=4"])
    assert (parameters.F, len(set(filters(parameters)["filter"].to_pylist()))) == (None, 20 * 3)


def test_range_must_have_as_many_numbers_as_the_paper():
    with pytest.raises(InputError, match="AN takes numbers, such as 3,10"):
        with_settings(Forwarding2001(), ["AN=3"])


@pytest.mark.parametrize("text", ["f_x=3", "zipf", "D_os=1", "seed=3"])
def test_other_names_are_input_errors(text):
    with pytest.raises(InputError, match=r"sets no parameter of this mix.*, f_h, "):
        with_settings(Forwarding2002(), [text])


def test_values_are_checked_by_the_workload():
    with pytest.raises(InputError, match="zipf takes a number"):
        with_settings(Forwarding2002(), ["zipf=much"])
    with pytest.raises(InputError):
        with_settings(Forwarding2002(), ["c_h=0"])
