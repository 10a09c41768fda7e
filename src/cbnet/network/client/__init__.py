"""Clients, asyncio and blocking; status queries, delivery checks and load clients."""
