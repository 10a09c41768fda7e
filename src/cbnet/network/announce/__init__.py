"""Announcements along trees: streams, their aggregation and acknowledgement, and the filters of local clients."""
