import pytest

from cbnet.errors import InputError
from cbnet.language import Op
from cbnet_lab.workload import MIXES, Forwarding2001, Forwarding2002, filters, messages, mix
from cbnet_lab.workload.forwarding import equality


def test_a_mix_is_found_by_its_name():
    size = {"filters": 70, "interfaces": 7, "messages": 5, "seed": 3}
    assert mix("2002", **size) == Forwarding2002(F=70, I=7, M=5, seed=3)
    assert mix("2001", **size) == Forwarding2001(F=70, I=7, N=5, seed=3)
    assert mix("equality", **size) == equality(F=70, I=7, M=5, seed=3)


@pytest.mark.parametrize("name", MIXES)
def test_every_mix_has_the_size_that_was_asked_for(name):
    said = mix(name, filters=30, messages=4)
    assert len(set(filters(said)["rule"].to_pylist())) == 30
    assert messages(said).num_rows == 4


def test_an_unknown_mix_is_an_input_error_that_lists_the_others():
    with pytest.raises(InputError, match="unknown mix '1999'; use one of 2002, 2001, equality, w1, w2, w3, w4, w5"):
        mix("1999")


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        ({"a_l": 5, "a_h": 5}, r"\[a_l, a_h\) = \[5, 5\) is an empty range"),
        ({"f_l": 5, "f_h": 4}, r"\[f_l, f_h\) = \[5, 4\) is an empty range"),
        ({"c_l": 0, "c_h": 0}, r"\[c_l, c_h\) = \[0, 0\) is an empty range"),
        ({"names": 17}, "a_h = 19 needs 18 attributes in a message, but there are only 17 names"),
        ({"F": 5, "I": 6}, "I = 6 interfaces cannot share F = 5 filters; .* I must be at most F"),
        ({"I": None}, "both I and F are missing"),
        ({"F": 0, "I": None}, "F must be an integer of at least 1, not 0"),
        ({"F": 5, "I": 0}, "I must be an integer of at least 1, not 0"),
        ({"I": -1}, "I must be an integer of at least 1, not -1"),
        ({"M": -1}, "M must be an integer of at least 1, not -1"),
        ({"M": 1.5}, "M must be an integer of at least 1, not 1.5"),
        ({"a_l": 0}, "a_l must be an integer of at least 1, not 0"),
        ({"c_l": -1}, "c_l must be an integer of at least 0, not -1"),
        ({"f_l": -1}, "f_l must be an integer of at least 0, not -1"),
        ({"strings": 0}, "strings must be an integer of at least 1, not 0"),
        ({"integers": 0}, "integers must be an integer of at least 1, not 0"),
        ({"seed": -1}, "seed must be an integer of at least 0, not -1"),
        ({"zipf": -1.0}, "zipf must be from 0 to 10, not -1.0"),
        ({"zipf": float("nan")}, "zipf must be from 0 to 10, not nan"),
        ({"D_t": (50, 40)}, "D_t must add up to 100 per cent, not 50, 40"),
        ({"D_t": (150, -50)}, "D_t must add up to 100 per cent, not 150, -50"),
        ({"D_oi": ()}, "D_oi must add up to 100 per cent"),
        ({"D_oi": ((Op.PREFIX, 100),)}, "D_oi: `.=` does not compare a number"),
        ({"D_os": ((Op.EXISTS, 100),)}, "D_os: `exists` does not compare a string"),
    ],
)
def test_wrong_parameters_of_2002_are_input_errors(parameters, problem):
    with pytest.raises(InputError, match=problem):
        Forwarding2002(**parameters)


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        ({"AN": (5, 4)}, r"AN = \(5, 4\) is an empty range"),
        ({"CN": (5, 4)}, r"CN = \(5, 4\) is an empty range"),
        ({"CN": (1, 2.5)}, r"CN\[1\] must be an integer of at least 0, not 2.5"),
        ({"AN": (0, 3)}, r"AN\[0\] must be an integer of at least 1, not 0"),
        ({"A": 9}, r"AN = \(3, 10\) needs 10 attributes in a message, but there are only 9 names"),
        ({"F": 49}, "I = 50 interfaces cannot share F = 49 filters"),
        ({"N": 0}, "N must be an integer of at least 1, not 0"),
        ({"SV": 0}, "SV must be an integer of at least 1, not 0"),
        ({"DT": (40, 40, 10)}, "DT must add up to 100 per cent"),
        ({"DO": ((Op.SUFFIX, 100),)}, "DO: `.=` does not compare a number"),
    ],
)
def test_wrong_parameters_of_2001_are_input_errors(parameters, problem):
    with pytest.raises(InputError, match=problem):
        Forwarding2001(**parameters)
