"""The blocking client, which runs the asyncio client in a thread of its own."""
