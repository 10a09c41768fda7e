"""Records of homes: what every router knows of them, and the review of those that a journal does not know."""
