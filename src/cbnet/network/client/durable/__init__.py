"""The durable part of a client: publishing, stored messages, and the search for a home."""
