import pytest


@pytest.fixture(scope="session")
def frame(spark):
    """Make a DataFrame of rows that lie in so many partitions."""

    def make(rows, schema, partitions=2):
        return spark.createDataFrame([*rows], schema).repartition(partitions)

    return make


@pytest.fixture
def small_blocks(spark):
    """Let Spark cut files into blocks of a few lines."""
    settings = {"spark.sql.files.maxPartitionBytes": "400", "spark.sql.files.openCostInBytes": "1"}
    before = {key: spark.conf.get(key) for key in settings}
    for key, value in settings.items():
        spark.conf.set(key, value)
    yield
    for key, value in before.items():
        spark.conf.set(key, value)
