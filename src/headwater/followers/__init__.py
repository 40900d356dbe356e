"""Followers: each keeps a store equal to a topic, and knows to which offset.

At every commit a store equals its topic up to the offsets stored in that same transaction.
"""
