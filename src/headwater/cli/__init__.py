"""The command line: what a person or a script types; one command per file, loaded when run."""
