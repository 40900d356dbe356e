"""Requests to the log: server, dispatch table, one handler file per API, groups."""
