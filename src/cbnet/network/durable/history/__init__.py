"""History of a router: the messages that it keeps, and the subscriptions that replay them."""
