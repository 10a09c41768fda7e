"""The state of a router and of the network over HTTP."""
