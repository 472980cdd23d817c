"""Program: one Python program, evaluated from an entry file with the words and the variables that start it.

Nothing is imported or run: the tree of each file of the repository is walked, with a limit on the work.
"""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Callable, Mapping, Sequence

from gpulint.source import excess
from gpulint.source.documents import Document
from gpulint.source.python import (
    calls,
    command_line,
    commands,
    expressions,
    files,
    imports,
    library,
    methods,
    operations,
    statements,
    syntax,
)
from gpulint.source.python.syntax import Syntax
from gpulint.source.python.values import (
    CALLER,
    Choice,
    Class,
    Constant,
    Function,
    Given,
    Items,
    Member,
    Name,
    Object,
    Open,
    Plain,
    Point,
    Scope,
    Value,
    choose,
)
from gpulint.source.python.values import Mapping as Entries

STEPS_MAX = 60_000
DEPTH_MAX = 90
CALLS_DEEP_MAX = 10
RECURSION_MAX = 5
MODULES_MAX = 24
RECORDED_MAX = 5_000
MAIN = "__main__"
ARGUMENTS = "sys.argv"
ADDS = ("append", "extend")
FOLDERS_ADDED = ("sys.path.append", "sys.path.insert")
"""Calls with a folder in which a program's modules may lie."""
FOLDERS_MAX = 4
POINTS_MAX = 200
GIVEN = ("train_loop_config",)
"""Keywords whose value is what a function gets that the same call is given."""
TOO_MANY = "a Python program has more than {} modules of the repository"
TOO_MANY_CALLS = "a Python program calls other packages more than {} times"
FITS = "Trainer.fit"
HOOKS = ("prepare_data", "setup", "configure_model", "configure_optimizers", "train_dataloader", "training_step")
"""Methods of its module and its data that a Trainer of Lightning calls: lightning/pytorch/core/hooks.py."""
TOO_LARGE = "a Python program takes more than {} steps to evaluate"
Find = Callable[[str], Document | None]


class _LimitError(Exception):
    """The program needs more work than is done for it."""


class Program:
    """A program: its modules, and in order the calls of what other packages define."""

    def __init__(
        self,
        find: Find,
        words: Sequence[Given] | None = None,
        environment: Mapping[str, Given] | None = None,
        open_environment: bool = True,
        known: Mapping[str, Plain] | None = None,
        ways: Mapping[tuple[object, ...], int] | None = None,
        unstated: Callable[[str], Given | None] | None = None,
    ) -> None:
        self._find = find
        self.words = words
        self.environment: Mapping[str, Given] = environment or {}
        self.open_environment = open_environment
        self.known = known or {}
        self.modules: dict[str, Scope] = {}
        self.calls: list[Object] = []
        self.written: dict[str, Value] = {}
        self.points: dict[tuple[object, ...], Point] = {}
        self._ways = ways or {}
        self._unstated = unstated
        self._by_name: dict[str, Scope] = {}
        self._path = ""
        self._folders: list[str] = []
        self._syntaxes: dict[int, Syntax] = {}
        self._steps = 0
        self._depth = 0
        self._entered: list[int] = []
        self._done: set[int] = set()
        self._made: dict[int, Object] = {}
        self._selves: list[Object] = []
        self._reached = True
        self.returned: dict[int, Value] = {}
        self._argv: Items | None = None

    def decide(self, point: Point) -> int | None:
        """Return the way that is taken at a point; None if all of them are open."""
        if len(self.points) < POINTS_MAX:
            self.points.setdefault(point.key, point)
        taken = self._ways.get(point.key)
        return taken if taken in point.members else None

    def find_unstated(self, name: str) -> Given | None:
        """Return a variable that nothing states, as a file of the repository sets it."""
        return self._unstated(name) if self._unstated is not None and self.open_environment else None

    def find(self, path: str) -> Document | None:
        """Return a document of the repository; None for a path outside it."""
        outside = path.startswith(("/", "..", "~")) and not self._path.startswith(("/", ".."))
        return None if outside or "\0" in path else self._find(path)

    # ---- entry

    def start(self, path: str, module: str = MAIN, functions: Sequence[str] = ()) -> Scope | None:
        """Evaluate a file as the program that is started, and then call functions of it."""
        self._path = path
        try:
            scope = self._open(path, module)
            called = [scope.names.get(name, operations.NOT_COMPUTED) for name in functions] if scope is not None else ()
            for function in called:
                self.call(function, [], {}, None)
            return scope
        except (_LimitError, RecursionError) as error:
            self._note_limit(error)
        return self.modules.get(path)

    def enter_rest(self, path: str = "") -> None:
        """Evaluate the functions and classes that nothing calls: those of one module, or of all."""
        try:
            self._run_rest(path)
        except (_LimitError, RecursionError) as error:
            self._note_limit(error)

    def _note_limit(self, error: Exception) -> None:
        reason = str(error) if isinstance(error, _LimitError) else "a Python program nests too deep to be evaluated"
        excess.note(reason, self._path)

    def _open(self, path: str, module: str) -> Scope | None:
        """Evaluate a module once."""
        if path in self.modules:
            return self.modules[path]
        if excess.is_over(len(self.modules) + 1, MODULES_MAX, TOO_MANY, self._path):
            return None
        document = self.find(path)
        parsed = syntax.parse(document) if document is not None else None
        if document is None or parsed is None:
            return None
        scope = Scope({"__name__": Constant(module)}, document, module)
        self.modules[path] = scope
        self._syntaxes[id(document)] = parsed
        self.run(parsed.tree.body, scope)
        return scope

    def _run_rest(self, path: str) -> None:
        """Enter the functions and classes that nothing calls, with open arguments."""
        if not self._reached:
            return
        self._reached = False
        modules = list(self.modules.values())
        for scope in [scope for scope in modules if not path or scope.document.path == path]:
            for value in list(scope.names.values()):
                if isinstance(value, Function) and value.scope is scope and not isinstance(value.node, ast.Lambda):
                    self._enter_rest(value)
                elif isinstance(value, Class) and value.scope is scope:
                    self._enter_class(value)

    def _enter_class(self, made: Class) -> None:
        owner = self._made.get(id(made))
        if owner is None:
            result = self.make(made, [], {}, self.place(made.node, made.scope))
            owner = result if isinstance(result, Object) else None
        for value in list(made.body.values()):
            if isinstance(value, Function) and owner is not None:
                self._enter_rest(calls.bind_method(value, owner))

    def _enter_rest(self, function: Function) -> None:
        if id(function.node) not in self._done:
            self.run_function(function, [], {})

    # ---- evaluation

    def spend(self) -> None:
        """Count one step of work."""
        self._steps += 1
        if self._steps > STEPS_MAX:
            raise _LimitError(TOO_LARGE.format(f"{STEPS_MAX:,}"))

    def count_steps(self) -> int:
        """Return the work that was done so far."""
        return self._steps

    def evaluate(self, node: ast.expr, scope: Scope) -> Value:
        """Return the value of an expression."""
        self.spend()
        if self._depth >= DEPTH_MAX:
            return Open("it is nested too deep")
        self._depth += 1
        try:
            return expressions.evaluate(self, node, scope)
        finally:
            self._depth -= 1

    def run(self, body: Sequence[ast.stmt], scope: Scope) -> bool:
        """Run a block; return True if what follows it is not reached."""
        self.spend()
        if self._depth >= DEPTH_MAX:
            return False
        self._depth += 1
        try:
            return statements.run(self, body, scope)
        finally:
            self._depth -= 1

    def place(self, node: ast.AST, scope: Scope) -> object:
        """Return the place of a part of a module's tree."""
        parsed = self._syntaxes.get(id(scope.document))
        return parsed.place(node) if parsed is not None else None

    def read_attribute(self, value: Value, name: str, place: object) -> Value:
        """Return what an attribute of a value is."""
        if isinstance(value, Name):
            full = f"{value.name}.{name}"
            return self._read_words() if full == ARGUMENTS else self._by_name.get(full) or Name(full, place)
        if isinstance(value, Scope):
            found = value.names.get(name)
            return found or Open(f"{name} is not defined in {value.document.path}", name=name)
        if isinstance(value, Choice):
            return choose(self.read_attribute(member, name, place) for member in value.members)
        if isinstance(value, Object):
            return self._read_object(value, name, place)
        if isinstance(value, Class):
            found_member = value.find(name)
            if isinstance(found_member, Function) and calls.is_of_class(found_member):
                return calls.bind_method(found_member, value)
            return found_member or Member(value, name, place)
        if isinstance(value, Entries) and name in value.entries:
            return value.entries[name]
        return value if isinstance(value, Open) else Member(value, name, place)

    def _read_words(self) -> Value:
        if self._argv is None:
            named = ((word, f"argument {number}") for number, word in enumerate(self.words or (), 1))
            given = [library.convert_given(word, name, CALLER) for word, name in named]
            self._argv = Items([Constant(""), *given], open_ended=self.words is None)
        return self._argv

    def replace_words(self, value: Value, place: object) -> None:
        """Take the words of the command from what the program sets `sys.argv` to."""
        self._argv = value if isinstance(value, Items) else Items([], open_ended=True)
        stated = [_give(item) for item in self._argv.items[1:]]
        self.words = None if self._argv.open_ended and not stated else stated
        self.record(Object(ARGUMENTS, place, list(self._argv.items[1:])))

    def _read_object(self, value: Object, name: str, place: object) -> Value:
        if (found := value.get(name)) is not None:
            return found
        if name == "__dict__":
            return library.list_attributes(value, place)
        if value.name in library.PATHS and (part := methods.read_path_part(value, name, place)) is not None:
            return part
        method = value.cls.find(name) if value.cls is not None else None
        if isinstance(method, Function):
            bound = calls.bind_method(method, value)
            names = {one.name for one in method.decorators if isinstance(one, Name)}
            is_property = bool(names & {"property", "functools.cached_property", "cached_property"})
            return self.run_function(bound, [], {}) if is_property else bound
        if value.name == library.NAMESPACE and not value.open_ended:
            return Open(f"{name} is not an argument of the program", name=name)
        return method if method is not None else Member(value, name, place)

    # ---- calls

    def call(self, function: Value, arguments: list[Value], keywords: dict[str, Value], place: object) -> Value:
        """Return what a call returns; a call of what another package defines is kept."""
        self.spend()
        if isinstance(function, Choice):
            return calls.call_each(self, function.members, arguments, keywords, place)
        if isinstance(function, Function):
            if not arguments and not keywords and commands.is_command(function):
                return commands.run_command(self, function)
            return self.run_function(function, arguments, keywords)
        if isinstance(function, Class):
            return self.make(function, arguments, keywords, place)
        if isinstance(function, Member):
            return self._call_member(function, arguments, keywords, place)
        if isinstance(function, Name):
            return self._call_name(function.name, arguments, keywords, place)
        if isinstance(function, Object):
            return self._call_object(function, arguments, keywords, place)
        name = function.name if isinstance(function, Open) else ""
        return self.record(Object(name, place, arguments, keywords)) if name else operations.NOT_COMPUTED

    def _call_name(self, name: str, arguments: list[Value], keywords: dict[str, Value], place: object) -> Value:
        if name == "super" and self._selves:
            return Object("super", place, receiver=self._selves[-1])
        if name in ("fire.Fire", "typer.run", "fire.core.Fire") and arguments:
            target = commands.find_command(arguments[0])
            return commands.run_command(self, target) if target else operations.NOT_COMPUTED
        if name in FOLDERS_ADDED and arguments and isinstance(arguments[-1], Constant):
            self._folders.append(posixpath.normpath(str(arguments[-1].value)))
        found = library.call(self, name, arguments, keywords, place)
        return found if found is not None else self.record(Object(name, place, arguments, keywords))

    def _call_object(
        self, function: Object, arguments: list[Value], keywords: dict[str, Value], place: object
    ) -> Value:
        method = function.cls.find("__call__") if function.cls is not None else None
        if isinstance(method, Function):
            return self.run_function(calls.bind_method(method, function), arguments, keywords)
        if function.name == "typer.Typer" and not arguments:
            found = [one for one in commands.list_functions(self) if commands.is_command(one)]
            if len(found) == 1:
                commands.run_command(self, found[0])
            else:
                commands.run_named(self, found)
            return operations.NOT_COMPUTED
        return self.record(Object(f"{function.name}()", place, arguments, keywords, receiver=function))

    def _call_member(
        self, function: Member, arguments: list[Value], keywords: dict[str, Value], place: object
    ) -> Value:
        receiver, name = function.receiver, function.name
        if isinstance(receiver, Function | Class):
            return self._call_started(receiver, name, arguments, keywords, place)
        if isinstance(receiver, Object) and receiver.name == "super" and isinstance(receiver.receiver, Object):
            return calls.call_parent(self, receiver.receiver, name, arguments, keywords)
        if isinstance(receiver, Object) and command_line.is_parser(receiver):
            found = command_line.call_parser(self, receiver, name, arguments, keywords, place)
            if found is not None:
                return found
        found = methods.call_method(self, receiver, name, arguments, keywords, place)
        if receiver is self._argv and name in ADDS:
            self.replace_words(receiver, place)
        if found is not None:
            return found
        owner = receiver.name if isinstance(receiver, Object | Member) else ""
        made = Object(f"{owner}.{name}", place, arguments, keywords, receiver=receiver)
        return self.record(made) if f"{owner}.{name}" not in self.known else Constant(self.known[f"{owner}.{name}"])

    def _call_started(
        self, owner: Function | Class, name: str, arguments: list[Value], keywords: dict[str, Value], place: object
    ) -> Value:
        """Return what Ray, Modal and the like start with `f.remote(…)`, or what a class method returns."""
        if name in ("options", "bind", "with_options") and not (name == "bind" and arguments):
            self.record(Object(f"{owner.name}.{name}", place, arguments, keywords, receiver=owner))
            return owner
        if name in library.SAME:
            return self.call(owner, arguments, keywords, place)
        if isinstance(owner, Class) and name in calls.VALIDATES and arguments and isinstance(arguments[0], Entries):
            return self.make(owner, [], {str(key): entry for key, entry in arguments[0].entries.items()}, place)
        external = owner.external() if isinstance(owner, Class) else ""
        full = f"{external or owner.name}.{name}"
        return self.record(Object(full, place, arguments, keywords, receiver=owner))

    def record(self, found: Object) -> Object:
        """Keep a call."""
        found.reached = self._reached
        found.within = tuple(self._entered)
        if len(self.calls) >= RECORDED_MAX:
            raise _LimitError(TOO_MANY_CALLS.format(f"{RECORDED_MAX:,}"))
        self.calls.append(found)
        given = (*found.arguments, *found.keywords.values())
        inside = [value for one in given if isinstance(one, Entries) for value in one.entries.values()]
        for value in (*given, *inside):
            if isinstance(value, Function) and id(value.node) not in self._done:
                self.run_function(value, [found.keywords[name] for name in GIVEN if name in found.keywords], {})
            if isinstance(value, Object) and value.cls is not None and found.name.endswith(FITS):
                self._run_hooks(value)
        return found

    def _run_hooks(self, owner: Object) -> None:
        """Run the methods of an object that a Trainer calls."""
        for name in HOOKS:
            method = owner.cls.find(name) if owner.cls is not None else None
            if isinstance(method, Function) and id(method.node) not in self._done:
                self.run_function(calls.bind_method(method, owner), [], {})

    def run_function(self, function: Function, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        """Return what a function of the program returns; one that calls itself is entered again for known arguments."""
        self.spend()
        entered = self._entered.count(id(function.node))
        is_known = all(isinstance(one, Constant | Entries | Items) for one in (*arguments, *keywords.values()))
        if entered >= (RECURSION_MAX if is_known else 1) or len(self._entered) >= CALLS_DEEP_MAX:
            return Open("the function calls itself, or calls nest too deep")
        self._entered.append(id(function.node))
        self._done.add(id(function.node))
        if isinstance(function.bound, Object):
            self._selves.append(function.bound)
        try:
            result = calls.run_function(self, function, arguments, keywords)
            self.returned[id(function.node)] = result
            return result
        finally:
            self._entered.pop()
            if isinstance(function.bound, Object):
                self._selves.pop()

    def make(self, made: Class, arguments: list[Value], keywords: dict[str, Value], place: object) -> Value:
        """Return an object of a class of the program."""
        result = calls.make(self, made, arguments, keywords, place)
        self._made.setdefault(id(made), result)
        return result

    # ---- modules and files

    def import_module(self, name: str, scope: Scope, level: int) -> Value:
        """Return a module of the repository; of another package, its name."""
        self.spend()
        for path in imports.list_paths(name, scope.document.path, level, self._folders[:FOLDERS_MAX]):
            if self.find(path) is not None:
                scope_found = self._open(path, name or MAIN)
                if scope_found is not None and not level:
                    self._by_name[name] = scope_found
                return scope_found or Open(f"{path} cannot be read", name=name)
        return Name(name) if not level else Open(f"the module {name} is not in the repository", name=name)

    def read_file(self, path: str, base: str) -> Value | None:
        """Return the data of a file, by its path from a module's folder or from a folder above it."""
        self.spend()
        folders = [posixpath.dirname(base)] if base else ["", *map(posixpath.dirname, self.modules)]
        for folder in dict.fromkeys(above for start in folders for above in imports.list_above(start)):
            document = self.find(posixpath.normpath(posixpath.join(folder, path)))
            if document is not None:
                return files.read(document)
        return None


def _give(value: Value) -> Given:
    """Return an item of `sys.argv` as a word of the command."""
    if isinstance(value, Constant):
        return Given(str(value.value), value.place)
    return Given(None, getattr(value, "place", None), "the program computes it")
