"""Spark itself: sessions, Java, file systems, shipped files, progress, costs."""
