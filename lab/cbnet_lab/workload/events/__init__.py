"""Events and rules as users have them."""
