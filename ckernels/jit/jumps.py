"""Loops without break, continue and return: flags stand in their place, and an `if` over what
follows. `for ...: if c: break` becomes `for ... (until stop): if c: stop = True`.

Syntax only, like syntax.py, which turns what comes out into calls: a loop whose flag ends it has
the name of the flag as its attribute `stop`, an `if` over what a loop left in a flag has `of_flag`.
What is not understood stays as it is.
"""

import ast
import functools

JUMPS = (ast.Break, ast.Continue, ast.Return)
LOOPS = (ast.For, ast.While)
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
STRANGE = (ast.Yield, ast.YieldFrom, ast.Await, ast.Try, ast.Global, ast.Nonlocal, ast.Delete,
           ast.Import, ast.ImportFrom, ast.ClassDef, ast.AsyncFor, ast.AsyncWith,
           getattr(ast, "TryStar", ast.Try), getattr(ast, "Match", ast.Try))  # fmt: skip
# fields that hold no nodes, or nodes that nobody looks for
TOKENS = {"arg", "asname", "attr", "conversion", "ctx", "id", "is_async", "kind", "kwd_attrs",
          "level", "module", "name", "op", "ops", "rest", "simple", "type_comment"}  # fmt: skip
RESULT = "_ck_result"  # begins the name of what a return inside of a loop gave; unset without one
ON, MAYBE, OFF = "on", "maybe", "off"  # whether statements reach their end


@functools.cache
def fields(kind):
    """The names of what nodes of a kind have below them. Operators and contexts are left out: they
    are half of all nodes, and nobody looks for them."""
    return [] if kind is ast.Constant else [n for n in kind._fields if n not in TOKENS]


def below(node):
    """The nodes right below one, in their order."""
    found = []
    for name in fields(type(node)):
        value = getattr(node, name, None)
        if type(value) is list:
            found += [v for v in value if v is not None and type(v) is not str]
        elif value is not None:
            found.append(value)
    return found


def walk(node):
    """A node and all below it, as a list. The types of nodes are compared and not asked for their
    bases: those of `ast` answer slowly."""
    found = [node]
    for each in found:
        found += below(each)
    return found


def inside(nodes):
    """All nodes below, but for those of functions inside."""
    stack = list(nodes)[::-1]
    while stack:
        node = stack.pop()
        yield node
        if type(node) not in SCOPES:
            stack += below(node)[::-1]


def jumps(statements):
    """Whether a statement leaves the list for another place than its end."""
    return any(type(n) in JUMPS for n in inside(statements))


def strange(statements):
    return any(type(n) in STRANGE for n in inside(statements))


def names_in_test(loop):
    return isinstance(loop, ast.While) and any(type(n) is ast.NamedExpr for n in walk(loop.test))


def leaves(loop):
    """Whether a loop, or one inside of it, has a jump, an else, or a test that binds names."""
    return any(type(n) in JUMPS or type(n) in LOOPS and (n.orelse or names_in_test(n))
               for n in inside([loop]))  # fmt: skip


def breaks(statements):
    """The breaks of the loop whose body it is."""
    for s in statements:
        if isinstance(s, ast.Break):
            yield s
        elif isinstance(s, (ast.If, *LOOPS)):
            yield from breaks(s.orelse if isinstance(s, LOOPS) else [*s.body, *s.orelse])


def understood(loop):
    """Whether all jumps of a loop stand in `if`s and loops."""
    return not strange([loop]) and not any(
        type(n) in (ast.With, ast.AsyncWith) and jumps([n]) for n in inside(loop.body)
    )


def assign(name, value):
    return ast.Assign([ast.Name(name, ast.Store())], value)


def flag(name, value=True):
    return assign(name, ast.Constant(value))


def unless(name, body):
    """`if not name: body`."""
    return ast.If(ast.UnaryOp(ast.Not(), ast.Name(name, ast.Load())), body, [])


class Jumps:
    """The jumps of one function. names: those of the loop that is at hand; changed: whether
    anything was rewritten."""

    def __init__(self):
        self.count, self.changed, self.read = 0, False, set()
        self.returned, self.result = None, None

    def function(self, statements):
        """The statements of a function without jumps in its loops."""
        body, end = self.block(statements, None)
        if self.changed and end is not OFF and body:
            body.append(ast.copy_location(ast.Return(ast.Constant(None)), body[-1]))
        return body

    def new_name(self, kind):
        self.count += 1
        return f"_ck_{kind}{self.count}"

    # ---- statements ----------------------------------------------------------------------------

    def block(self, statements, loop):
        """(statements without jumps of `loop`, a pair of flags, or without a loop None; whether
        they reach their end)."""
        out, todo = [], list(statements)
        while todo:
            s = todo.pop(0)
            if loop is None and isinstance(s, ast.Return):
                return [*out, s], OFF
            if loop is not None and isinstance(s, JUMPS):
                return out + self.jump(s, loop), OFF
            if isinstance(s, LOOPS) and not hasattr(s, "stop"):
                todo = self.loop(s, loop) + todo
            elif isinstance(s, ast.If):
                done, rest, end = self.if_(s, todo, loop)
                out += done
                if rest is None:
                    return out, end
            elif isinstance(s, (ast.With, ast.AsyncWith)):
                s.body = self.block(s.body, loop)[0]
                out.append(s)
            else:
                out.append(s)
        return out, ON

    def if_(self, s, rest, loop):
        """(what stands for an `if`, the statements that still follow it, how it ends); None for
        these where they are in it already."""
        then, first = self.block(s.body, loop)
        other, second = self.block(s.orelse, loop)
        s.body, s.orelse = then, other
        if loop is None or first is second is ON:
            return [s], rest, ON
        if first is second is OFF:
            return [s], None, OFF
        rest, end = self.block(rest, loop)
        if not rest:
            return [s], None, MAYBE
        if MAYBE in (first, second):
            self.read.add(loop[1])
            return [s, ast.copy_location(unless(loop[1], rest), s)], None, MAYBE
        if first is OFF:
            s.orelse = other + rest
        else:
            s.body = then + rest
        return [s], None, MAYBE

    def jump(self, s, loop):
        """What stands for a jump."""
        stop, left = loop
        found = [] if isinstance(s, ast.Continue) else [flag(stop)]
        if isinstance(s, ast.Return):
            value = s.value if s.value is not None else ast.Constant(None)
            found = [assign(self.result, value), flag(self.returned), *found]
        return [ast.copy_location(f, s) for f in (*found, flag(left))]

    # ---- loops ---------------------------------------------------------------------------------

    def loop(self, s, outer):
        """The statements that stand for a loop, of which one is it."""
        s.stop = None
        if not leaves(s) or not understood(s):
            return [s]
        self.changed = True
        returns = any(type(n) is ast.Return for n in inside(s.body))
        forever = isinstance(s, ast.While) and isinstance(s.test, ast.Constant) and s.test.value
        only = forever and not any(breaks(s.body))  # by a return it ends, or never
        before, mine = [], returns and self.returned is None
        if mine:
            self.returned, self.result = self.new_name("returned"), self.new_name("result")
            before.append(flag(self.returned, False))
        stop, left = self.new_name("stop"), self.new_name("left")
        after, s.orelse = s.orelse, []
        if names_in_test(s):
            leave = ast.If(ast.UnaryOp(ast.Not(), s.test), [ast.Break()], [])
            s.test, s.body = ast.Constant(True), [ast.copy_location(leave, s), *s.body]
        s.body, _ = self.block(s.body, (stop, left))
        self.without_reads(s, left)
        if any(type(n) is ast.Name and n.id == stop for n in inside(s.body)):
            before.append(flag(stop, False))
            s.stop, after = stop, [unless(stop, after)] if after else []
            for each in after:
                each.of_flag = True
            if isinstance(s, ast.While):
                s.test = self.until(stop, s.test)
        if returns:
            after.append(self.after_return(outer, only))
        if mine:
            self.returned = self.result = None
        return [ast.copy_location(b, s) for b in before] + [s] + [
            ast.copy_location(a, s) for a in after]  # fmt: skip

    @staticmethod
    def until(stop, test):
        """`not stop and test`."""
        going = ast.UnaryOp(ast.Not(), ast.Name(stop, ast.Load()))
        if isinstance(test, ast.Constant) and test.value:
            return going
        return ast.BoolOp(ast.And(), [going, test])

    def after_return(self, outer, only):
        """What follows a loop with a return in it: the way out of the next loop, or of all. only:
        there is no other way than that."""
        leave = ast.Break() if outer is not None else ast.Return(
            ast.Name(self.result, ast.Load()))  # fmt: skip
        if only:
            return leave
        found = ast.If(ast.Name(self.returned, ast.Load()), [leave], [])
        if outer is None:
            found.of_flag = True
        return found

    def without_reads(self, s, left):
        """Let a loop set the flag `left` in each turn, if that is read; else nowhere."""
        if left in self.read:
            s.body = [ast.copy_location(flag(left, False), s), *s.body]
            return

        class Unread(ast.NodeTransformer):
            def visit_Assign(self, node):
                target = node.targets[0]
                mine = isinstance(target, ast.Name) and target.id == left
                return None if mine else node

        for k, each in enumerate(list(s.body)):
            s.body[k] = Unread().visit(each)
        s.body = [each for each in s.body if each is not None]
        for node in inside([s]):
            if isinstance(node, (ast.If, *LOOPS)) and not node.body:
                node.body = [ast.copy_location(ast.Pass(), node)]
