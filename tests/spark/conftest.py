from support.spark_fixtures import _shared_session, borrowed, frame, remote, small_blocks  # noqa: F401
