"""Events and rules modelled on those of users."""
