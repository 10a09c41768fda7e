"""Access control: who may connect, as whom, and with which rights."""
