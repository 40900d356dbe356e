"""HTTP: query views, subscribe to them, read your own writes."""
