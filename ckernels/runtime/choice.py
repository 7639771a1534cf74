"""Which rewrites a function gets: mode and the flags `optimizer...`, as they are when it is made.

Later changes of the flags only affect functions made later. Rules that the code generator needs
always run. The rewrite room is only imported to check names, so that a warm start stays fast.
"""

from typing import NamedTuple

from ..base.config import config
from ..base.errors import ConfigError, did_you_mean


class Rules(NamedTuple):
    """Names of rules and families: `include` to apply (None: all), `exclude` to leave out."""

    include: object
    exclude: frozenset


def chosen(mode=None):
    """The Rules of a function made now in this mode (None: that of the flag)."""
    adding, leaving = names("optimizer_including"), names("optimizer_excluding")
    few = (mode or config.mode) == "fast_compile" or config.optimizer in ("fast_compile", "none")
    return Rules(adding if few else None, leaving - adding)


def names(flag):
    """The names in a flag; ConfigError for one that is neither a rule nor a family of rules."""
    found = frozenset(filter(None, config[flag].split(":")))
    if found:
        from ..rewrite import PASSES, rules  # start-up

        known = PASSES | {name for rule in rules() for name in (rule.name, rule.family)}
        for name in sorted(found - known):
            hint = did_you_mean(name, known)
            raise ConfigError(f"flag `{flag}`: there is no rewrite `{name}`{hint}")
    return found
