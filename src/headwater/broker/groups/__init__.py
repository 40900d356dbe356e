"""Classic consumer groups: membership as a state machine, and committed offsets, both durable."""
