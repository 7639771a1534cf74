"""Databases of rewrites: by name and tags, asked by a Query.

The principal one is theano.compile.optdb. It holds rewrites of users; Theano's own are the engine's
affair, so the tags of those match nothing here.
"""

import copy

from ...base.errors import ArgumentError, UsageError
from ..base.names import absent_of as _absent_of
from . import opt


class DB:
    """Rewrites, or databases of them, by name and by tags."""

    def __init__(self):
        self.__db__, self._names, self.name = {}, [], None

    def register(self, name, obj, *tags, **kwargs):
        """Put in a rewrite under a name and tags; use_db_name_as_tag=False: not this DB's name."""
        own = kwargs.pop("use_db_name_as_tag", True)
        if kwargs:
            raise UsageError(f"register does not take {sorted(kwargs)}")
        if not isinstance(obj, (DB, opt.Optimizer, opt.LocalOptimizer)):
            raise UsageError("a rewrite or a database is registered, and this is neither", obj)
        if name in self.__db__:
            raise ArgumentError(f"The name {name!r} is taken, by a rewrite or as a tag")
        if own and self.name is not None:
            tags = (*tags, self.name)
        obj.name = name
        if isinstance(obj, DB) or not hasattr(obj, "registered_as"):
            obj.registered_as = name
        self._names.append(name)
        self.__db__[name] = [obj]
        self.add_tags(name, *tags)
        self.__db__.setdefault(type(obj).__name__, [])
        if obj not in self.__db__[type(obj).__name__]:
            self.__db__[type(obj).__name__].append(obj)

    def add_tags(self, name, *tags):
        """More tags for a rewrite."""
        obj = self._named(name)
        for tag in tags:
            if tag in self._names:
                raise ArgumentError(f"The tag {tag!r} is the name of a rewrite")
            held = self.__db__.setdefault(tag, [])
            if obj not in held:
                held.append(obj)

    def remove_tags(self, name, *tags):
        """Fewer tags for a rewrite."""
        obj = self._named(name)
        for tag in tags:
            if tag in self._names:
                raise ArgumentError(f"{tag!r} is the name of a rewrite and no tag")
            self.__db__[tag].remove(obj)

    def _named(self, name):
        if name not in self._names:
            raise KeyError(f"no rewrite is called {name!r}")
        return self.__db__[name][0]

    def _found(self, tag):
        return self.__db__.get(tag, [])

    def _query(self, query):
        """The rewrites of this database that a Query asks for, in the order they came."""
        wanted = {id(x) for tag in query.include for x in self._found(tag)}
        for tag in query.require:
            wanted &= {id(x) for x in self._found(tag)}
        for tag in query.exclude:
            wanted -= {id(x) for x in self._found(tag)}
        found = []
        for name in self._names:
            obj = self.__db__[name][0]
            if isinstance(obj, DB):
                if id(obj) in {id(x) for tag in query.exclude for x in self._found(tag)}:
                    continue
                inner = obj.query(query.subquery.get(name, query))
                if inner is not None:
                    inner.name = name
                    found.append(inner)
            elif id(obj) in wanted:
                found.append(obj)
        return found

    def query(self, *tags, **kwargs):
        """The rewrites for a Query, or for tags '+in', '-out', '&required'."""
        if tags and isinstance(tags[0], Query):
            return self._query(tags[0])
        return self._query(query_of(tags, kwargs))

    def __getitem__(self, name):
        found = self._found(name)
        if not found:
            raise KeyError(f"nothing is registered for {name!r}")
        if len(found) > 1:
            raise ArgumentError(f"{len(found)} rewrites have the tag {name!r}")
        return found[0]

    def __contains__(self, name):
        return name in self.__db__

    def print_summary(self, stream=None):
        """Print the names."""
        print(f"{type(self).__name__} (id {id(self)})\n  names {self._names}", file=stream)


def query_of(tags, subquery=None):
    """The Query for '+in' (or 'in'), '-out', '&required'."""
    if any(not isinstance(t, str) or not t for t in tags):
        raise UsageError(f"tags are strings, not {tags}")
    return Query(
        [t.lstrip("+") for t in tags if t[0] not in "-&"],
        [t[1:] for t in tags if t[0] == "&"],
        [t[1:] for t in tags if t[0] == "-"],
        subquery,
    )


class Query:
    """What to take from a database: of the tags `include` one at least, of `require` all, of
    `exclude` none; extra_optimizations: pairs (rewrite, position)."""

    def __init__(self, include, require=None, exclude=None, subquery=None,
                 position_cutoff=float("inf"), extra_optimizations=None):  # fmt: skip
        self.include, self.require = set(include), set(require or ())
        self.exclude, self.subquery = set(exclude or ()), dict(subquery or {})
        self.position_cutoff, self.extra_optimizations = position_cutoff, extra_optimizations or []
        self.name = None

    def __str__(self):
        return (
            f"Query{{inc={self.include},ex={self.exclude},require={self.require},"
            f"subquery={self.subquery},position_cutoff={self.position_cutoff}}}"
        )

    def _more(self, **sets):
        made = copy.copy(self)
        for name, tags in sets.items():
            setattr(made, name, getattr(self, name) | set(tags))
        return made

    def including(self, *tags):
        """A Query for rewrites with these tags too."""
        return self._more(include=tags)

    def excluding(self, *tags):
        """A Query without rewrites of these tags."""
        return self._more(exclude=tags)

    def requiring(self, *tags):
        """A Query for rewrites that have all these tags."""
        return self._more(require=tags)

    def register(self, *optimizations):
        """A Query with rewrites of one's own: pairs (rewrite, position)."""
        made = copy.copy(self)
        made.extra_optimizations = [*self.extra_optimizations, *optimizations]
        return made


class EquilibriumDB(DB):
    """Local rewrites, applied together until none applies any more."""

    def __init__(self, ignore_newtrees=True, tracks_on_change_inputs=False):
        super().__init__()
        self.ignore_newtrees, self.tracks = ignore_newtrees, tracks_on_change_inputs
        self.__final__, self.__cleanup__ = {}, {}

    def register(self, name, obj, *tags, **kwargs):
        """final_opt: once, after the others; cleanup: after each round."""
        final, cleanup = kwargs.pop("final_opt", False), kwargs.pop("cleanup", False)
        if final and cleanup:
            raise ArgumentError(f"{name}: final_opt and cleanup exclude each other")
        super().register(name, obj, *tags, **kwargs)
        self.__final__[name], self.__cleanup__[name] = final, cleanup

    def query(self, *tags, **kwargs):
        """An EquilibriumOptimizer of the rewrites asked for; None where there are none."""
        found = super().query(*tags, **kwargs)
        if not found:
            return None
        return opt.EquilibriumOptimizer(
            [
                o
                for o in found
                if not self.__final__.get(o.name) and not self.__cleanup__.get(o.name)
            ],
            max_use_ratio=10,
            ignore_newtrees=self.ignore_newtrees,
            final_optimizers=[o for o in found if self.__final__.get(o.name)],
            cleanup_optimizers=[o for o in found if self.__cleanup__.get(o.name)],
        )


class SequenceDB(DB):
    """Rewrites with positions, applied one after the other."""

    seq_opt = opt.SeqOptimizer

    def __init__(self, failure_callback=None):
        super().__init__()
        self.__position__, self.failure_callback = {}, failure_callback

    def register(self, name, obj, position, *tags, **kwargs):
        """`position`: a number; 'last' is after all others."""
        if position == "last":
            position = max(self.__position__.values(), default=0) + 1
        if not isinstance(position, (int, float)):
            raise UsageError(f"a position is a number, not {position!r}")
        super().register(name, obj, *tags, **kwargs)
        self.__position__[name] = position

    def query(self, *tags, **kwargs):
        """A SeqOptimizer of the rewrites asked for, by position; None where there are none."""
        cutoff, extra = kwargs.pop("position_cutoff", float("inf")), []
        if tags and isinstance(tags[0], Query):
            cutoff, extra = tags[0].position_cutoff, tags[0].extra_optimizations
        found = [(self.__position__[o.name], o) for o in super().query(*tags, **kwargs)]
        for one, position in extra:
            if isinstance(one, DB):
                one = one.query(*tags, **kwargs)
            if one is not None:
                found.append((position, one))
        found = sorted((f for f in found if f[0] < cutoff), key=lambda f: f[0])
        return self.seq_opt([o for _, o in found], failure_callback=self.failure_callback)

    def __str__(self):
        return f"SequenceDB({sorted((p, n) for n, p in self.__position__.items())})"


class LocalGroupDB(DB):
    """Local rewrites as one: a `local_opt` of them, by default the first that applies."""

    def __init__(self, apply_all_opts=False, profile=False, local_opt=opt.LocalOptGroup):
        super().__init__()
        self.apply_all_opts, self.local_opt, self.__position__ = apply_all_opts, local_opt, {}

    def register(self, name, obj, *tags, **kwargs):
        """position: a number; 'last' is after all others."""
        position = kwargs.pop("position", "last")
        if position == "last":
            position = max(self.__position__.values(), default=0) + 1
        super().register(name, obj, *tags, **kwargs)
        self.__position__[name] = position

    def query(self, *tags, **kwargs):
        """A LocalOptGroup of the rewrites asked for; None where there are none."""
        found = sorted(super().query(*tags, **kwargs), key=lambda o: self.__position__[o.name])
        return self.local_opt(*found, apply_all_opts=self.apply_all_opts) if found else None


class TopoDB(DB):
    """A database of local rewrites, applied in one walk."""

    def __init__(self, db, order="in_to_out", ignore_newtrees=False, failure_callback=None):
        super().__init__()
        self.db, self.order = db, order
        self.ignore_newtrees, self.failure_callback = ignore_newtrees, failure_callback

    def query(self, *tags, **kwargs):
        """A TopoOptimizer; None where the database gives nothing."""
        found = self.db.query(*tags, **kwargs)
        if not found:
            return None
        found = opt.LocalOptGroup(*found) if isinstance(found, list) else found
        return opt.TopoOptimizer(found, self.order, self.ignore_newtrees, self.failure_callback)


class ProxyDB(DB):
    """Another database, under a second name."""

    def __init__(self, db):
        if not isinstance(db, DB):
            raise UsageError("a ProxyDB stands for a database", db)
        super().__init__()
        self.db = db

    def query(self, *tags, **kwargs):
        return self.db.query(*tags, **kwargs)


def _principal():
    """Theano's database and its parts that users register in, in Theano's order."""
    made, parts = SequenceDB(), {}
    for position, name in ((1, "canonicalize"), (1.5, "stabilize"), (2, "specialize"),
                           (3, "uncanonicalize")):  # fmt: skip
        parts[name] = EquilibriumDB()
        tags = ["fast_run"] + (["fast_compile"] if name in ("canonicalize", "stabilize") else [])
        made.register(name, parts[name], position, *tags)
    return made, parts


optdb, parts = _principal()


__getattr__ = _absent_of("theano.gof.optdb")
