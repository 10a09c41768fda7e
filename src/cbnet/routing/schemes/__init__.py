"""The routing schemes of [2006], and the tree in the header of [2014]."""
