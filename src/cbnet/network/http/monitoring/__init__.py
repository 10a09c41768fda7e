"""What operators and monitoring systems read: health, metrics, and the state of the network."""
