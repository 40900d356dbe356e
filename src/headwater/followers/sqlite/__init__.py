"""Views in SQLite: one file per generation of a view, in WAL mode, so that readers never wait."""
