"""Source of a function with its control flow as calls: `for` becomes `_ck_for(range(n), body)`.

The bodies of loops and branches become functions inside, whose cells are the names that they bind.
What is not understood stays as it is: try, del, yield. Jumps out of loops are flags before
(jumps.py). What the calls do stands in flow.py; here is nothing but syntax.
"""

import ast
import functools
import inspect
import linecache
import types
from collections import Counter
from typing import NamedTuple

import numpy as np

from .jumps import SCOPES, Jumps, below, inside, jumps, strange, walk

CONVERSIONS = {
    "float", "int", "bool", "type", "bool_", "intp", "int_", "single", "double",
    *(t.__name__ for t in (
        np.float16, np.float32, np.float64, np.int8, np.int16, np.int32, np.int64, np.uint8,
        np.uint16, np.uint32, np.uint64, np.complex64, np.complex128)),
}  # fmt: skip
LAMBDA = "<lambda>"
# classes of errors of which those are that a trace refuses with
WIDE = {"Exception", "BaseException", "RuntimeError", "NotImplementedError"}
CHOICES = (ast.IfExp, ast.BoolOp, ast.UnaryOp, ast.Compare)
SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Return)
TAKE_ALL = ("sum", "max", "min", "list", "tuple", "sorted")  # functions that take all there is
LATE = (ast.FunctionDef, ast.Lambda, ast.GeneratorExp)  # these may run after the turn they are of


class Changed(NamedTuple):
    """Code with its control flow as calls, and the function that it was made from."""

    code: types.CodeType
    node: ast.FunctionDef

    @property
    def source(self):
        return ast.unparse(self.node)


@functools.lru_cache(1024)
def transformed(code):
    """What `code` is with its control flow as calls, a Changed; None where there is none, in
    generators, where there is no source, or where the source is not that of the code."""
    if code.co_flags & inspect.CO_GENERATOR:
        return None
    linecache.checkcache(code.co_filename)
    try:
        places, module = parsed(code.co_filename, "".join(linecache.getlines(code.co_filename)))
    except (SyntaxError, ValueError, RecursionError):
        return None
    same = ("co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars")
    if not any(all(getattr(c, name) == getattr(code, name) for name in same)
               for c in codes(module, code)):  # fmt: skip
        return None  # the file was changed meanwhile
    nodes = places.get((code.co_name, code.co_firstlineno), ())
    if code.co_name == LAMBDA and len(nodes) > 1:
        nodes = of_lambda(nodes, code)
    if len(nodes) != 1 or any(map(mangled, walk(nodes[0]))):
        return None
    node = copied(nodes[0])
    if type(node) is ast.Lambda:
        node = as_def(node)
    node.decorator_list, node.returns = [], None
    try:
        found = compiled(node, code) if FunctionSource(node).change() else None
    except SyntaxError:
        return None
    if found is None or found.co_freevars != code.co_freevars:
        return None
    return Changed(found, node)


@functools.lru_cache(16)
def parsed(filename, text):
    """({(name, first line): its functions that begin there}, code) of a file."""
    places = {}
    for node in walk(ast.parse(text)):
        if type(node) is ast.FunctionDef:
            first = min(d.lineno for d in (node, *node.decorator_list))
            places.setdefault((node.name, first), []).append(node)
        elif type(node) is ast.Lambda:
            places.setdefault((LAMBDA, node.lineno), []).append(node)
    return places, compile(text, filename, "exec", dont_inherit=True)


def of_lambda(nodes, code):
    """The innermost of some lambdas of one line whose body has all that the code is made from; none
    where Python does not keep places (3.10)."""
    places = getattr(code, "co_positions", tuple)()
    known = [p for p in places if None not in p and (p[0], p[2]) < (p[1], p[3])]
    fit = []
    for node in nodes:
        b = node.body
        first, last = (b.lineno, b.col_offset), (b.end_lineno, b.end_col_offset)
        if known and all(first <= (p[0], p[2]) and (p[1], p[3]) <= last for p in known):
            fit.append((last, tuple(-x for x in first), node))
    return [min(fit, key=lambda each: each[:2])[2]] if fit else []


def as_def(node):
    """A lambda as a function that returns its value."""
    made = ast.parse("def _lambda():\n    return None").body[0]
    made.args, made.body[0].value = node.args, node.body
    return ast.copy_location(made, node)


def codes(module, like):
    """The code of functions below `module` that begin where `like` does."""
    for c in module.co_consts:
        if isinstance(c, types.CodeType):
            if c.co_name == like.co_name and c.co_firstlineno == like.co_firstlineno:
                yield c
            yield from codes(c, like)


def mangled(node):
    """Whether a name is one that a class makes its own."""
    name = getattr(node, "id", getattr(node, "attr", ""))
    return name[:2] == "__" and name[-2:] != "__"


def copied(node):
    """Another tree like one, or a list of such."""
    if type(node) is list:
        return [copied(each) for each in node]
    if not hasattr(node, "_fields"):
        return node
    new = type(node)()
    new.__dict__.update({name: copied(value) for name, value in vars(node).items()})
    return new


def compiled(node, code):
    """The code of the function `node`, whose free names are those of `code`."""
    outer = ast.parse("def outer():\n    pass").body[0]
    given = [ast.parse(f"{name} = None").body[0] for name in code.co_freevars]
    outer.body = [*given, node, *outer.body]
    module = ast.fix_missing_locations(ast.Module([outer], []))
    flags = code.co_flags & 0x1FF0000  # those of `from __future__ import`
    made = compile(module, code.co_filename, "exec", flags, dont_inherit=True)
    return inner_code(inner_code(made, "outer"), node.name)


def inner_code(code, name):
    return next((c for c in code.co_consts
                 if isinstance(c, types.CodeType) and c.co_name == name), None)  # fmt: skip


# ---- what statements do ------------------------------------------------------------------------


def bound(statements):
    """The names that statements bind, in order."""
    found, of_comprehensions = {}, set()
    for node in inside(statements):
        if type(node) is ast.Name and type(node.ctx) is ast.Store:
            found[node.id] = None
        elif type(node) in (ast.FunctionDef, ast.ClassDef):
            found[node.name] = None
        elif type(node) is ast.comprehension:
            of_comprehensions |= {n.id for n in walk(node.target) if type(n) is ast.Name}
    if of_comprehensions:
        of_comprehensions &= only_in_comprehensions(statements)
    return [name for name in found if name not in of_comprehensions]


def only_in_comprehensions(statements):
    """Names that nothing but comprehensions binds."""
    own, others = set(), set()
    stack = list(statements)
    while stack:
        node = stack.pop()
        if type(node) is ast.comprehension:
            own |= {n.id for n in walk(node.target) if type(n) is ast.Name}
            stack += [node.iter, *node.ifs]
            continue
        if type(node) is ast.Name and type(node.ctx) is ast.Store:
            others.add(node.id)
        if type(node) not in SCOPES:
            stack += below(node)
    return own - others


def uses(node):
    """How often each name occurs below, functions inside of it included."""
    return Counter(n.id for n in walk(node) if type(n) is ast.Name)


def set_first(name, statements, uses):
    """Whether statements bind a name before anything can read it, in every turn. uses: the function
    of that name, which may remember."""
    for statement in statements:
        if not uses(statement)[name]:
            continue
        if type(statement) is ast.Assign:
            if uses(statement.value)[name]:
                return False
            targets = [t for target in statement.targets for t in getattr(target, "elts", [target])]
            return any(type(t) is ast.Name and t.id == name for t in targets)
        alone = not sum(uses(other)[name] for other in statements if other is not statement)
        if type(statement) is ast.If and alone and not uses(statement.test)[name]:
            sides = [b for b in (statement.body, statement.orelse) if sum(uses(s)[name] for s in b)]
            return all(set_first(name, b, uses) for b in sides)
        if type(statement) is not ast.For or uses(statement.iter)[name]:
            return False
        if alone:
            target = ast.Assign([statement.target], ast.Constant(None))
            return set_first(name, [target, *statement.body], uses)
        return False
    return False


def returns(statements):
    """Whether statements end by a return whatever happens."""
    last = statements[-1] if statements else None
    if isinstance(last, ast.If):
        return returns(last.body) and returns(last.orelse)
    return isinstance(last, ast.Return)


# ---- the transform -----------------------------------------------------------------------------


def call(name, *args):
    return ast.Call(ast.Name(name, ast.Load()), list(args), [])


def arguments(*names):
    return ast.arguments(posonlyargs=[], args=[ast.arg(n) for n in names], kwonlyargs=[],
                         kw_defaults=[], defaults=[])  # fmt: skip


def thunk(expression):
    return ast.Lambda(arguments(), expression)


def assigns(node):
    """Whether an expression cannot be moved into a function of its own."""
    return any(type(n) in (ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await)
               for n in walk(node))  # fmt: skip


def links(node):
    """A chain a < b < c as `a < b and b < c`; None where it is none, or b is to be called once."""
    if len(node.ops) < 2 or any(type(n) is ast.Call for c in node.comparators for n in walk(c)):
        return None
    left = [node.left, *node.comparators]
    parts = [ast.Compare(a, [op], [b]) for a, op, b in zip(left, node.ops, node.comparators)]
    return placed(ast.BoolOp(ast.And(), copied(parts)), node)


def among(node):
    """`a in (1, 2)`, where these are numbers that stand there, as `a == 1 or a == 2`; else None."""
    op, items = node.ops[0], node.comparators[0]
    if not isinstance(op, (ast.In, ast.NotIn)) or not isinstance(
        items, (ast.Tuple, ast.List, ast.Set)
    ):
        return None
    plain = all(isinstance(i, ast.Constant) and type(i.value) in (int, float) for i in items.elts)
    if not plain or not items.elts or any(type(n) is ast.Call for n in walk(node.left)):
        return None
    parts = [ast.Compare(copied(node.left), [ast.Eq()], [i]) for i in items.elts]
    found = ast.BoolOp(ast.Or(), parts) if len(parts) > 1 else parts[0]
    return placed(ast.UnaryOp(ast.Not(), found) if isinstance(op, ast.NotIn) else found, node)


def placed(new, old):
    """A new node, and what is new below it, at the line of an old one."""
    for node in walk(new):
        if "lineno" in node._attributes and not hasattr(node, "lineno"):
            ast.copy_location(node, old)
    return new


def only_called(s, within, everywhere):
    """The lambdas below a statement that have a name which is called there, and is nowhere else:
    none of them outlives a turn."""
    found, called = {}, Counter()
    for node in walk(s):
        if type(node) is ast.Assign and isinstance(node.value, ast.Lambda):
            if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                found.setdefault(node.targets[0].id, []).append(node.value)
        if type(node) is ast.Call and isinstance(node.func, ast.Name):
            called[node.func.id] += 1
    return {made for name, lambdas in found.items() for made in lambdas
            if within[name] == everywhere[name] == called[name] + len(lambdas)}  # fmt: skip


class FunctionSource:
    """One function that is changed in place."""

    def __init__(self, node):
        self.node, self.count, self.changed = node, 0, False
        self.uses, self.grown = {}, ()

    def change(self):
        """Rewrite its statements; whether anything was."""
        node, args = self.node, self.node.args
        every = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
        start = 1 if ast.get_docstring(node, clean=False) is not None else 0
        names = [n for n in inside(node.body) if type(n) in (ast.Global, ast.Nonlocal)]
        if names:
            return False
        self.grown = grown(node.body)
        guarded = self.guard_handlers()
        flags = Jumps()
        body = flags.function(node.body[start:])
        node.body[start:] = body
        self.changed, self.uses = flags.changed or guarded, uses(node)
        own = [n for n in bound(node.body) if n not in {a.arg for a in every if a}]
        self.convert(node)
        body = self.tail(body)
        node.body = node.body[:start] + self.declared(own, body, node) + body
        return self.changed

    def guard_handlers(self):
        """Let handlers of every error ask first what they caught: see Flow.caught. Whether there
        are such."""
        handlers = [h for n in walk(self.node) if type(n) is ast.Try for h in n.handlers
                    if h.type is None or any(type(t) is ast.Name and t.id in WIDE
                                             for t in walk(h.type))]  # fmt: skip
        for handler in handlers:
            asked = ast.Expr(call("_ck_caught"))
            handler.body.insert(0, placed(asked, handler.body[0]))
        return bool(handlers)

    @staticmethod
    def declared(names, body, at):
        """Names made known as a function's own, without a value, where functions inside of `body`
        bind them."""
        inner = {name for s in body for n in walk(s) if type(n) is ast.Nonlocal
                 for name in n.names}  # fmt: skip
        names = [n for n in names if n in inner]
        if not names:
            return []
        targets = [ast.Name(n, ast.Store()) for n in names]
        empty = ast.If(ast.Constant(False), [ast.Assign(targets, ast.Constant(None))], [])
        return [placed(empty, at)]

    def convert(self, node):
        """float(x), int(x), bool(x), type(x) and np.float32(x) as calls that know values."""
        for n in walk(node):
            callee = getattr(n, "func", None)
            name = getattr(callee, "id", getattr(callee, "attr", ""))
            if type(n) is ast.Call and (
                name in CONVERSIONS and len(n.args) == 1 and not n.keywords
                and not isinstance(n.args[0], ast.Starred)
            ):  # fmt: skip
                self.changed = True
                n.args = [n.func, *n.args]
                n.func = ast.copy_location(ast.Name("_ck_convert", ast.Load()), n)

    def new_name(self, kind):
        self.count += 1
        return f"_ck_{kind}{self.count}"

    def inner(self, kind, statements, names, old, argument=None):
        """A function inside: (its definition, its name)."""
        name = self.new_name(kind)
        args = arguments(*argument or ())
        head = [ast.Nonlocal(names)] if names else []
        made = ast.FunctionDef(name, args, head + statements or [ast.Pass()], [])
        made.type_params = []
        return placed(made, old), ast.Name(name, ast.Load())

    def tail(self, statements):
        """Statements at whose end the function returns: an `if` with returns becomes a value."""
        for k, s in enumerate(statements):
            if type(s) is not ast.If or not jumps([s]):
                continue
            rest = statements[k + 1 :]
            ends = returns(s.body), returns(s.orelse)
            if not any(ends) or strange([s]) or any(loop_jumps(s)):
                break
            sides = [side if end else side + rest for side, end in zip((s.body, s.orelse), ends)]
            if not all(returns(side) for side in sides):
                break
            self.changed = True
            made = [self.inner(kind, self.tail(side), bound(side), s)
                    for kind, side in zip(("then", "otherwise"), sides)]  # fmt: skip
            name = "_ck_return" if hasattr(s, "of_flag") else "_ck_either"
            value = call(name, self.test(s.test), made[0][1], made[1][1])
            return [*self.statements(statements[:k]), made[0][0], made[1][0],
                    placed(ast.Return(value), s)]  # fmt: skip
        return self.statements(statements)

    def statements(self, statements):
        return [new for s in statements for new in self.statement(s)]

    def statement(self, s):
        """What stands for one statement, as a list."""
        if type(s) is ast.For and not (s.orelse or jumps(s.body) or strange(s.body)):
            return self.for_(s)
        if type(s) is ast.While and not (s.orelse or jumps(s.body) or strange(s.body)):
            return self.while_(s)
        if type(s) is ast.If and not (jumps([s]) or strange([s])):
            return self.if_(s)
        if type(s) is ast.FunctionDef and not strange(s.body):
            self.changed |= FunctionSource(s).change()
        if type(s) in SCOPES:
            return [s]
        if self.grown:
            s = self.listed(s)
        for field in ("body", "orelse", "finalbody"):
            if isinstance(getattr(s, field, None), list):
                setattr(s, field, self.statements(getattr(s, field)))
        made = self.comprehensions(s) if isinstance(s, SIMPLE) else []
        return [*made, self.expressions(s)]

    def comprehensions(self, s):
        """What is defined before a statement so that its comprehensions are asked of Flow."""
        kinds = (ast.ListComp, ast.GeneratorExp)
        if not any(type(n) in kinds for n in walk(s)):
            return []
        found = Comprehensions(self)
        found.visit(s)
        return found.before

    def listed(self, s):
        """A statement that makes a list which loops append to, as a call."""
        made = {each for each, name in lists_made(s) if name in self.grown}
        if made:
            s.value = ListsMade(made).visit(s.value)
            self.changed = True
        return s

    def expressions(self, s):
        """A statement whose expressions `a if test else b`, `a and b` and `not a` are calls."""
        plain = type(s) in SCOPES or not any(type(n) in CHOICES for n in walk(s))
        return s if plain else Choices(self).visit(s)

    def test(self, node):
        """A condition whose and, or, not and chains are calls."""
        if assigns(node):
            return node
        if type(node) is ast.BoolOp:
            name = "_ck_and" if isinstance(node.op, ast.And) else "_ck_or"
            *first, last = [self.test(v) for v in node.values]
            for value in first[::-1]:
                last = call(name, value, thunk(last))
            return placed(last, node)
        if type(node) is ast.UnaryOp and isinstance(node.op, ast.Not):
            return placed(call("_ck_not", self.test(node.operand)), node)
        parts = links(node) or among(node) if type(node) is ast.Compare else None
        return self.expressions(node) if parts is None else self.test(parts)

    def own_names(self, s, body):
        """(names of a loop that belong to the function, those that one turn has for itself)."""
        names, known = bound([s]), functools.cache(uses)
        within = known(s)
        late = [n for n in walk(s) if type(n) in LATE]
        if late and not set(late) <= only_called(s, within, self.uses):
            return names, []
        target = ast.Assign([s.target], ast.Constant(None)) if type(s) is ast.For else None
        order = [target, *body] if target is not None else body
        own = [n for n in names if within[n] == self.uses[n] and set_first(n, order, known)]
        return [n for n in names if n not in own], own

    def for_(self, s):
        self.changed = True
        names, own = self.own_names(s, s.body)
        first = ast.Assign([s.target], ast.Name("_ck_item", ast.Load()))
        body = [first, *self.statements(s.body)]
        body = self.declared(own, body, s) + body
        made, name = self.inner("body", body, names, s, ["_ck_item"])
        stop = getattr(s, "stop", None)
        until = [thunk(ast.Name(stop, ast.Load()))] if stop else []
        return [made, placed(ast.Expr(call("_ck_for", s.iter, name, *until)), s)]

    def while_(self, s):
        self.changed = True
        names, own = self.own_names(s, s.body)
        if any(uses(s.test)[n] for n in own):
            names, own = names + own, []
        body = self.statements(s.body)
        made, name = self.inner("body", self.declared(own, body, s) + body, names, s)
        test, test_name = self.inner("test", [ast.Return(self.test(s.test))], [], s)
        return [made, test, placed(ast.Expr(call("_ck_while", test_name, name)), s)]

    def if_(self, s):
        self.changed = True
        sides = [self.inner(kind, self.statements(side), bound(side), s)
                 for kind, side in (("then", s.body), ("otherwise", s.orelse)) if side]  # fmt: skip
        name = "_ck_after" if hasattr(s, "of_flag") else "_ck_if"
        done = call(name, self.test(s.test), *[side for _, side in sides])
        return [*[made for made, _ in sides], placed(ast.Expr(done), s)]


class Comprehensions(ast.NodeTransformer):
    """Makes `[f(x) for x in xs]` a call that is given a list and what a turn puts into it, which
    stand in `before`; where it is evaluated but for conditions it stays as it is."""

    def __init__(self, function):
        given = [a.arg for a in ast.walk(function.node.args) if isinstance(a, ast.arg)]
        self.function, self.before = function, []
        self.own = {*given, *bound(function.node.body)}

    def visit_ListComp(self, node):
        one = node.generators[0]
        if len(node.generators) > 1 or one.is_async or assigns(node) or any(
            type(n) in LATE for n in walk(node)[1:]
        ):  # fmt: skip
            return node
        self.function.changed = True
        whole, items = copied(node), ast.Name(self.function.new_name("items"), ast.Load())
        turn = ast.Expr(ast.Call(ast.Attribute(items, "append", ast.Load()), [node.elt], []))
        for test in one.ifs[::-1]:
            turn = ast.If(test, [turn], [])
        first = ast.Assign([one.target], ast.Name("_ck_item", ast.Load()))
        turns = self.function.statements([placed(each, node) for each in (first, turn)])
        made, name = self.function.inner("body", turns, [], node, ["_ck_item"])
        empty = call("_ck_list", ast.List([], ast.Load()))
        empty = ast.Assign([ast.Name(items.id, ast.Store())], empty)
        self.before += [placed(empty, node), made]
        whole.generators[0].iter = ast.Name("_ck_rows", ast.Load())
        plain = ast.Lambda(arguments("_ck_rows"), whole)
        found = call("_ck_comprehended", self.visit(one.iter), items, name, plain)
        return placed(found, node)

    def visit_Call(self, node):
        """sum(f(x) for x in xs) and the like take all there is: a list does where data count it."""
        every = node.args[0] if len(node.args) == 1 and not node.keywords else None
        if isinstance(every, ast.GeneratorExp) and isinstance(node.func, ast.Name) and (
            node.func.id in TAKE_ALL and node.func.id not in self.own
        ):  # fmt: skip
            node.args = [self.visit_ListComp(every)]
        return self.generic_visit(node)

    def visit_Compare(self, node):
        return node if len(node.ops) > 1 else self.generic_visit(node)

    def kept(self, node):
        return node

    visit_IfExp = visit_BoolOp = visit_Lambda = visit_SetComp = visit_DictComp = kept
    visit_GeneratorExp = kept


class Choices(ast.NodeTransformer):
    """The choices of an expression as calls."""

    def __init__(self, function):
        self.function = function

    def visit_IfExp(self, node):
        if assigns(node):
            return self.generic_visit(node)
        self.function.changed = True
        test = self.function.test(self.truth(node.test))
        body, orelse = self.visit(node.body), self.visit(node.orelse)
        return placed(call("_ck_either", test, thunk(body), thunk(orelse)), node)

    def truth(self, node):
        """A condition, whose and, or and not are not values."""
        if type(node) is ast.BoolOp:
            node.values = [self.truth(v) for v in node.values]
        elif type(node) is ast.UnaryOp and isinstance(node.op, ast.Not):
            node.operand = self.truth(node.operand)
        elif type(node) is ast.Compare:
            self.generic_visit(node)
        else:
            node = self.visit(node)
        return node

    def visit_BoolOp(self, node):
        self.generic_visit(node)
        if assigns(node):
            return node
        self.function.changed = True
        name = "_ck_all" if isinstance(node.op, ast.And) else "_ck_any"
        *first, last = node.values
        for value in first[::-1]:
            last = call(name, value, thunk(last))
        return placed(last, node)

    def visit_UnaryOp(self, node):
        self.generic_visit(node)
        if not isinstance(node.op, ast.Not) or assigns(node):
            return node
        self.function.changed = True
        return placed(call("_ck_not", node.operand), node)

    def visit_Compare(self, node):
        parts = links(node)
        return self.generic_visit(node) if parts is None else self.visit_BoolOp(parts)

    def visit_Lambda(self, node):
        return node

    visit_FunctionDef = visit_ListComp = visit_SetComp = visit_DictComp = visit_Lambda
    visit_GeneratorExp = visit_Lambda


def grown(statements):
    """The names of lists that statements make and loops among them append to."""
    found = set()
    for loop in inside(statements):
        if type(loop) in (ast.For, ast.While):
            found |= {appended_to(n.value) for n in inside(loop.body) if type(n) is ast.Expr}
    return found & {name for n in inside(statements) for _, name in lists_made(n)}


def lists_made(s):
    """(list as it is written, name) of each in `name = [...]` or `a, name = b, [...]`."""
    if type(s) is not ast.Assign or len(s.targets) != 1:
        return
    pairs = [(s.value, s.targets[0])]
    if isinstance(s.value, ast.Tuple) and isinstance(s.targets[0], ast.Tuple):
        values, targets = s.value.elts, s.targets[0].elts
        pairs = zip(values, targets) if len(values) == len(targets) else ()
    for value, target in pairs:
        if isinstance(value, ast.List) and type(target) is ast.Name:
            yield value, target.id


class ListsMade(ast.NodeTransformer):
    """Some lists of an expression as calls that make them."""

    def __init__(self, lists):
        self.lists = lists

    def visit_List(self, node):
        return placed(call("_ck_list", node), node) if node in self.lists else node


def appended_to(node):
    """The name of `name.append(x)`, or None."""
    func = getattr(node, "func", None)
    plain = type(node) is ast.Call and len(node.args) == 1 and not node.keywords
    if plain and isinstance(func, ast.Attribute) and func.attr == "append" and isinstance(
        func.value, ast.Name
    ) and not isinstance(node.args[0], ast.Starred):  # fmt: skip
        return func.value.id
    return None


def loop_jumps(s):
    """The breaks and continues inside of a statement, and returns inside of its loops."""
    for node in inside([s]):
        if type(node) in (ast.Break, ast.Continue):
            yield node
        if type(node) in (ast.For, ast.While):
            yield from (n for n in inside(node.body) if type(n) is ast.Return)
