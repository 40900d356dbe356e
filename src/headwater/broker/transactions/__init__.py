"""Transactions: one state machine per transactional id, durable in `__transaction_state`."""
