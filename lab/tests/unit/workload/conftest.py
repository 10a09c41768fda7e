import pytest


@pytest.fixture
def likely():
    """Return whether so many hits are within five standard deviations of their expected number."""

    def within(hits: int, trials: int, probability: float) -> bool:
        spread = (trials * probability * (1 - probability)) ** 0.5
        return abs(hits - trials * probability) <= 5 * spread

    return within


@pytest.fixture
def likely_mean():
    """Return whether a mean is within five standard errors of that of the uniform whole numbers low to high."""

    def within(mean: float, draws: int, low: int, high: int) -> bool:
        deviation = (((high - low + 1) ** 2 - 1) / 12) ** 0.5
        return abs(mean - (low + high) / 2) <= 5 * deviation / draws**0.5

    return within
