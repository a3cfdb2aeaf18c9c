"""A step number that lives on the GPU, so that one captured step can be replayed for every t."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NoReturn, TypeVar

import torch
from torch import Tensor

V = TypeVar("V")


class NotCapturable(Exception):
    """A step uses the step number in a way that cannot be replayed, such as ``if t % 10 == 0``."""


class Capture:
    """The buffers of one captured step, which are refilled before each replay."""

    def __init__(self, constants: Sequence[Tensor] = ()) -> None:
        """``constants``: tensors that are the same in all steps."""
        self._constants = constants
        self._buffers: dict[Hashable, Any] = {}
        self._refills: dict[Hashable, Callable[[int], object]] = {}

    def buffer(self, key: Hashable, make: Callable[[], V]) -> V:
        """Return the buffer of this key. The step runs twice, as a rehearsal and to be captured, with one buffer."""
        if key not in self._buffers:
            self._buffers[key] = make()
        buffer: V = self._buffers[key]
        return buffer

    def before_replay(self, key: Hashable, refill: Callable[[int], object], t: int) -> None:
        """Call ``refill(t)`` now, in the rehearsal, and before each replay."""
        if key not in self._refills:
            self._refills[key] = refill
            refill(t)

    def refill(self, t: int) -> None:
        """Fill all buffers for step t."""
        for refill in self._refills.values():
            refill(t)

    def is_constant(self, tensor: Tensor) -> bool:
        return any(tensor is constant for constant in self._constants)


def _reject(what: str) -> Callable[..., NoReturn]:
    def method(self: StepIndex, *_: Any) -> NoReturn:
        raise NotCapturable(f"it uses {what} of the step number t")

    return method


class StepIndex:
    """The number a·t + k: a tensor during a replay, and an integer for a given t.

    Methods and problems may add, subtract and multiply it by integers and use it as a sample number or as the index of
    a stepsize. Every other use raises ``NotCapturable``, because Python code does not run in a replay.
    """

    def __init__(self, capture: Capture, base: Tensor, now: int, a: int = 1, k: int = 0) -> None:
        """``base``: t on the device, (1,), int64; ``now``: its value while the step is captured."""
        self.capture, self._base, self._now, self._a, self._k = capture, base, now, a, k

    @property
    def key(self) -> tuple[int, int]:
        """The pair (a, k)."""
        return self._a, self._k

    def value(self, t: int) -> int:
        """Return the number for step t."""
        return self._a * t + self._k

    @property
    def now(self) -> int:
        """Its value while the step is captured."""
        return self.value(self._now)

    def tensor(self) -> Tensor:
        """Return the number as a tensor (1,), which a replay computes anew."""
        return self._base * self._a + self._k if (self._a, self._k) != (1, 0) else self._base

    def pick(self, table: Tensor, period: int | None = None) -> Tensor:
        """Return ``table[index]``, or ``table[index % period]``."""
        place = self.tensor() if period is None else self.tensor() % period
        return table.index_select(0, place).squeeze(0)

    def _affine(self, a: int, k: int) -> StepIndex:
        return StepIndex(self.capture, self._base, self._now, a, k)

    def before_replay(self, key: Hashable, refill: Callable[[int], object]) -> None:
        """Call ``refill`` with this number now and before each replay."""
        self.capture.before_replay((key, self.key), lambda t: refill(self.value(t)), self._now)

    def __add__(self, other: int) -> StepIndex:
        return self._affine(self._a, self._k + other) if isinstance(other, int) else NotImplemented

    def __sub__(self, other: int) -> StepIndex:
        return self + -other if isinstance(other, int) else NotImplemented

    def __mul__(self, other: int) -> StepIndex:
        return self._affine(self._a * other, self._k * other) if isinstance(other, int) else NotImplemented

    __radd__, __rmul__ = __add__, __mul__

    def __rpow__(self, base: Tensor) -> Tensor:
        """``base ** t`` of a constant tensor, computed before each replay: pow of two tensors rounds differently."""
        if not self.capture.is_constant(base):
            raise NotCapturable("it uses a power of the step number t")
        key = "power", id(base), self.key
        buffer = self.capture.buffer(key, lambda: torch.empty_like(base))
        self.before_replay(key, lambda value: buffer.copy_(base**value))
        return buffer

    def __mod__(self, other: int) -> int:
        if other == 1:
            return 0
        raise NotCapturable("it uses a remainder of the step number t")

    __bool__ = _reject("the truth value")
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _reject("a comparison")
    __hash__ = _reject("a hash")
    __index__ = __int__ = __float__ = _reject("the value")
    __str__ = __format__ = __repr__ = _reject("the text")
    __truediv__ = __rtruediv__ = __floordiv__ = __divmod__ = __pow__ = __rsub__ = _reject("a quotient or a power")


class Samples:
    """A tensor with a leading axis of samples, of which a captured step picks one by its StepIndex."""

    def __init__(self, data: Tensor) -> None:
        self.data = data

    def __getitem__(self, s: StepIndex) -> Tensor:
        return s.pick(self.data, len(self.data))


class Ring:
    """Two consecutive blocks of samples in one buffer, from which a captured step reads the samples of any t.

    While the GPU replays the steps of one block, a thread draws the next.
    """

    def __init__(self, size: int, block: Callable[[int], Any], first: int) -> None:
        """``size``: samples in a block; ``block(b)``: block b, a tensor (size, …) or a tuple of them."""
        self._size, self._block = size, block
        self._thread = ThreadPoolExecutor(1)
        self._ahead: dict[int, Future[Any]] = {}
        self._held: list[int | None] = [None, None]
        self._wanted: dict[Hashable, int] = {}
        self.samples = _map(lambda x: Samples(x.new_empty(2 * size, *x.shape[1:])), block(first))

    def load(self, key: Hashable, s: int) -> None:
        """Load the block of sample s, which the step reads under this key."""
        number = s // self._size
        self._wanted[key] = number
        if any((number - other) % 2 == 0 and other != number for other in self._wanted.values()):
            raise NotCapturable(f"a step uses samples that are more than {self._size} apart")
        if self._held[number % 2] != number:
            begin = number % 2 * self._size
            block = self._ahead.pop(number).result() if number in self._ahead else self._block(number)
            _map(lambda to, x: to.data[begin : begin + self._size].copy_(x), self.samples, block)
            if self._held != [None, None]:  # the first block is loaded in the rehearsal, before the capture
                self._ahead = {number + 1: self._thread.submit(self._block, number + 1)}
            self._held[number % 2] = number


def _map(function: Callable[..., Any], *trees: Any) -> Any:
    """Apply a function to the tensors of equal structures: tensors, None and (named) tuples of them."""
    if trees[0] is None:
        return None
    if not isinstance(trees[0], tuple):
        return function(*trees)
    parts = [_map(function, *entries) for entries in zip(*trees, strict=True)]
    return type(trees[0])(*parts) if hasattr(trees[0], "_fields") else tuple(parts)
