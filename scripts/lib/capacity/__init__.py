"""Capacity model of the suite: from users and their calls to processes, databases, memory and network. See scripts/capacity."""
