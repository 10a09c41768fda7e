import io

from rich.console import Console

from cbnet.pipeline.spark.progress import StageProgress, show_progress, step, watch_stages


def polls(*progress):
    remaining = iter(progress)
    return lambda: next(remaining, None)


def drawn(*progress):
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=100, color_system=None)
    show_progress(polls(*progress), console, period=0.01)
    return out.getvalue()


def test_bar_shows_the_step_and_its_tasks():
    text = drawn(StageProgress("reading", 0, 7), StageProgress("reading", 3, 7), StageProgress("sorting", 1, 2))
    for part in ("reading", "0/7 tasks", "3/7 tasks", "sorting", "1/2 tasks"):
        assert part in text


def test_no_bar_is_drawn_without_tasks():
    assert drawn(StageProgress("Spark", 0, 0), StageProgress("Spark", 0, 0)) == ""


def test_bar_ends_with_its_stage_and_returns_with_the_next():
    text = drawn(StageProgress("one", 1, 2), StageProgress("Spark", 0, 0), StageProgress("two", 1, 2))
    assert text.index("one") < text.rindex("two")


def test_nothing_is_drawn_without_a_terminal():
    assert watch_stages(None, Console(file=io.StringIO())) is None


def test_no_bar_is_drawn_beside_a_spinner():
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=100, color_system=None)
    with Console(file=io.StringIO(), force_terminal=True).status("starting Spark"):
        show_progress(polls(StageProgress("reading", 1, 7)), console, period=0.01)
    assert out.getvalue() == ""
    show_progress(polls(StageProgress("reading", 1, 7)), console, period=0.01)
    assert "1/7 tasks" in out.getvalue()


def test_step_names_its_jobs(spark):
    def described():
        return spark.sparkContext.getLocalProperty("spark.job.description")

    before = described()
    with step(spark, "outer"):
        with step(spark, "inner"):
            assert described() == "inner"
        assert described() == "outer"
    assert described() == before
