"""DimsRecord: the words that the dims of an instruction begin with, by name.

A tuple whose items have names, as a named tuple; but the classes of records.py are made in 0.1 ms
instead of 1.4, and a field may be a tuple of words or of records.
"""

from operator import itemgetter


class DimsRecord(tuple):
    """FIELDS: names in order; NESTED: {field: (how many, their DimsRecord or None for ints)}."""

    __slots__ = ()
    FIELDS, NESTED, WORDS = (), {}, 0

    def __init_subclass__(cls):
        for at, name in enumerate(cls.FIELDS):
            setattr(cls, name, property(itemgetter(at)))

    def __new__(cls, *values, **named):
        rest = cls.FIELDS[len(values) :]
        if named.keys() != set(rest):
            raise TypeError(f"{cls.__name__} wants {', '.join(rest)}, not {', '.join(named)}")
        return super().__new__(cls, (*values, *(named[name] for name in rest)))

    def but(self, **changes):
        """The same record with other values in these fields."""
        return type(self)(**{**dict(zip(self.FIELDS, self)), **changes})
