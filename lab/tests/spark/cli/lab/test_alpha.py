def test_sets_drawn_on_spark_give_the_same_numbers(cbnet):
    command = [
        "lab",
        "alpha",
        "specific",
        "--scenario",
        "uniform-50",
        "--sets",
        "3",
        "--max-predicates",
        "50",
        "--json",
    ]
    here, on_spark = cbnet(*command), cbnet(*command, "--master", "local[2]")
    assert (here.code, on_spark.code) == (0, 0), on_spark.err
    assert here.out == on_spark.out
    assert len(here.out.splitlines()) > 10
