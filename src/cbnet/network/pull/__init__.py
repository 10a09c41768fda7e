"""Pull: requests, holders, replies and reply caches."""
