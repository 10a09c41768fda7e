from support.spark_fixtures import _shared_session, frame, remote, small_blocks  # noqa: F401
