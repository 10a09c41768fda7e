"""The blocking client, which runs the asyncio client in its own thread."""
