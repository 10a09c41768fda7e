"""The protocol: frames, their bytes, and the encodings inside them."""
