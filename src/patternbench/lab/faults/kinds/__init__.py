"""How kinds of fault begin and end that are not left to the proxies on a link alone, as in ``study/faults/kinds``.

A file has one function ``act(fault, name, setup)``, which says who does it (``lab/faults/acting.py``).
"""
