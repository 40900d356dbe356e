"""Real clients, unchanged, each at the newest version it negotiates with the broker."""
