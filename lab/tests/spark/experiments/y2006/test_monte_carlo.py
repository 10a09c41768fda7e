from cbnet_lab.experiments.y2006.monte_carlo import general_advantages, specific_advantages


def test_specific_model_on_spark_equals_the_one_in_one_process(spark):
    arguments = {"scenarios": ["zipf-500", "uniform-50"], "sets": 3, "max_predicates": 50, "seed": 4}
    assert specific_advantages(**arguments, spark=spark).equals(specific_advantages(**arguments, processes=1))


def test_general_model_on_spark_equals_the_one_in_one_process(spark):
    arguments = {"universes": [1000], "sets": 3, "seed": 4}
    assert general_advantages(**arguments, spark=spark).equals(general_advantages(**arguments, processes=1))
