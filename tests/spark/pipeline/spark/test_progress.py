import io

from rich.console import Console

from cbnet.pipeline.spark.progress import Work, show_work, step, watch_stages


def looks(*seen):
    remaining = iter(seen)
    return lambda: next(remaining, None)


def drawn(*seen):
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=100, color_system=None)
    show_work(looks(*seen), console, period=0.01)
    return out.getvalue()


def test_a_bar_shows_the_step_and_its_tasks():
    text = drawn(Work("reading", 0, 7), Work("reading", 3, 7), Work("sorting", 1, 2))
    for said in ("reading", "0/7 tasks", "3/7 tasks", "sorting", "1/2 tasks"):
        assert said in text


def test_there_is_no_bar_while_nothing_runs():
    assert drawn(Work("Spark", 0, 0), Work("Spark", 0, 0)) == ""


def test_the_bar_goes_when_the_work_is_done_and_comes_again():
    text = drawn(Work("one", 1, 2), Work("Spark", 0, 0), Work("two", 1, 2))
    assert text.index("one") < text.rindex("two")


def test_nothing_is_drawn_where_nobody_looks():
    assert watch_stages(None, Console(file=io.StringIO())) is None


def test_a_step_names_the_jobs_inside_it(spark):
    def described():
        return spark.sparkContext.getLocalProperty("spark.job.description")

    before = described()
    with step(spark, "outer"):
        with step(spark, "inner"):
            assert described() == "inner"
        assert described() == "outer"
    assert described() == before
