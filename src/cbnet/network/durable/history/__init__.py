"""The history of a router: messages that it keeps, and the subscriptions that begin in the past."""
