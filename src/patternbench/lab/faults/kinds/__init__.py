"""How each kind of fault begins and ends: one file each, of the same name as in ``study/faults/kinds``.

A file has one function ``act(fault, name, site)``, which says who does it (``lab/faults/act.py``).
"""
