"""The compiled hot loops, over flat arrays: which lines must run at C speed?

A kernel knows nothing of cbnet. Its caller validates the input once; a kernel never raises and
never sees bad input. Each has a plain Python twin in the package that owns the concept.
"""
