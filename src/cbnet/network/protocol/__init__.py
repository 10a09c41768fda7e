"""The wire protocol: frames, their encoding, addresses, and codecs of filters, headers and requests."""
