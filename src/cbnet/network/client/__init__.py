"""Clients: asyncio and plain, and what monitors a network through them."""
