"""A stateful pipeline under fire: every process of it is killed again and again, and nothing may be amiss.

`make fire` runs it. `events` is what happened, `pipeline` what is made of it, `accidents` what goes
wrong meanwhile, `oracle` what must come out.
"""
