"""Forwarding tables of routers: dictionary, minimal sets, FIBs, Table 1 [2014 §4.2.3]."""
