"""One file per API: a handler takes a request and returns its response, or an awaitable of it."""
