"""Fixtures of the tests on Spark; the session itself is in `conftest.py` of the repository."""

from secrets import token_hex

import pytest

UNUSUAL = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.ansi.enabled": "false",
    "spark.sql.caseSensitive": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "false",
    "spark.sql.parquet.compression.codec": "gzip",
    "spark.sql.session.timeZone": "Asia/Kolkata",
    "spark.sql.shuffle.partitions": "5",
}


@pytest.fixture(scope="session", autouse=True)
def _shared_session(spark):
    """Start the shared session first, so that commands under test use it and start none of their own."""


@pytest.fixture(scope="session")
def frame(spark):
    """Return a function that builds a DataFrame of rows in a number of partitions."""

    def build(rows, schema, partitions=2):
        return spark.createDataFrame([*rows], schema).repartition(partitions)

    return build


@pytest.fixture
def small_blocks(spark):
    """Let Spark split files into blocks of a few lines."""
    settings = {"spark.sql.files.maxPartitionBytes": "400", "spark.sql.files.openCostInBytes": "1"}
    before = {key: spark.conf.get(key) for key in settings}
    for key, value in settings.items():
        spark.conf.set(key, value)
    yield
    for key, value in before.items():
        spark.conf.set(key, value)


@pytest.fixture(params=["viewfs", "s3a"])
def remote(request, spark, tmp_path):
    """The URI of the test's folder on a file system that Python cannot read: a mount table of Hadoop.

    With the scheme of an object store, files are written as there: without a rename.
    """
    name = f"mounted{token_hex(4)}"
    configuration = spark.sparkContext._jsc.hadoopConfiguration()
    configuration.set(f"fs.viewfs.mounttable.{name}.link./here", tmp_path.as_uri())
    if request.param != "viewfs":
        overloaded = "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme"
        configuration.set(f"fs.{request.param}.impl", overloaded)
    return f"{request.param}://{name}/here"


@pytest.fixture
def borrowed(spark):
    """A session with its own settings, in the process of the shared one."""
    session = spark.newSession()
    for key, value in UNUSUAL.items():
        session.conf.set(key, value)
    yield session
    spark.createDataFrame([(1,)], "n int")  # the shared one is the active one again
    assert {key: session.conf.get(key) for key in UNUSUAL} == UNUSUAL
