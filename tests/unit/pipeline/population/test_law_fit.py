import numpy as np
import pytest

from cbnet.pipeline.population.application_models import default_models
from cbnet.pipeline.population.law_fit import compare, fit_activity, fit_models, mean_law
from cbnet.pipeline.population.user_model import NO_LIMIT, Activity, TagLaw, UserModel, user_sets
from cbnet.pipeline.population.user_trace import UserTrace


def trace_of(law, users=1500, mean=60.0, seed=11, limit=NO_LIMIT):
    activity = Activity(1.2, np.array([0.2, 0.8]), np.array([0.5, 0.8, 1.0]), limit)
    counts, sets = user_sets(UserModel(law, activity, np.zeros(0, dtype=np.int32)), seed, 0, np.arange(users), mean)
    return UserTrace(np.repeat(np.arange(users), counts), sets)


@pytest.mark.parametrize(
    "law", [TagLaw(0.6, 200.0, 0.7, 2.0, 0.3), TagLaw(0.8, 30.0, 0.5, 10.0, 0.6)], ids=["narrow", "wide"]
)
def test_fit_recovers_the_parameters_of_generated_users(law):
    [model] = fit_models([trace_of(law)])
    assert model.law.growth == pytest.approx(law.growth, abs=0.05)
    assert model.law.discount == pytest.approx(law.discount, abs=0.07)
    assert model.law.cohesion == pytest.approx(law.cohesion, abs=0.1)
    assert model.law.head == pytest.approx(law.head, rel=0.5)


def test_traces_share_all_but_the_head():
    laws = [TagLaw(0.7, head, 0.7, 2.0, 0.3) for head in (20.0, 400.0)]
    models = fit_models([trace_of(law) for law in laws])
    assert len({(model.law.growth, model.law.discount, model.law.concentration) for model in models}) == 1
    assert models[1].law.head / models[0].law.head == pytest.approx(20, rel=0.5)
    assert mean_law([model.law for model in models]).head == pytest.approx(
        (models[0].law.head * models[1].law.head) ** 0.5
    )


def test_activity_is_that_of_the_trace():
    activity = fit_activity(trace_of(TagLaw(0.7, 20.0, 0.7, 2.0, 0.3), users=4000))
    assert activity.deviation == pytest.approx(1.2, rel=0.1)
    assert activity.one_tag[[2, 10, 18]] == pytest.approx([0.26, 0.5, 0.74], abs=0.05)
    assert activity.sizes == pytest.approx([0.5, 0.8, 1.0], abs=0.02)
    assert activity.limit == NO_LIMIT


def test_limit_of_a_trace_is_found():
    assert fit_activity(trace_of(TagLaw(0.7, 1e6, 0.7, 2.0, 0.3), limit=20)).limit == 20


def test_fitted_users_are_like_those_of_the_trace():
    counts, sets = user_sets(default_models(["web"])["web"], 9, 0, np.arange(600), 40.0)
    trace = UserTrace(np.repeat(np.arange(600), counts), sets)
    [model] = fit_models([trace])
    compared = compare(model, trace)
    assert (compared["users"], compared["sets"]) == (600, len(sets))
    for row in compared["measures"]:
        assert abs(row["difference"]) < 0.15, row
    assert compared["vocabulary"][-1] == {
        "users": 600,
        "trace": trace.vocabulary,
        "synthetic": compared["measures"][2]["synthetic"],
    }
    assert sum(row["trace"] for row in compared["sizes"]) == len(sets)
    assert [row["assigned"] for row in compared["user_tags"]][:3] == [1, 2, 4]
