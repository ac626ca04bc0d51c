"""Vector instructions for rows of float32, with sums in one order on every processor.

A compiler that may reorder sums chooses their order by the width of the processor's registers. Here
the order is fixed, and it allows a row to be summed in quarters: column i is in quarter i mod 4.

    WIDE     for complete rows, whose length is a multiple of 16; returns the sums of the quarters
    NARROW   for one quarter of each row, a multiple of 4 columns; returns its sum

Column i is added to lane i mod 32 of a complete row (i mod 8 of a quarter). Then the lanes are
added: 32 → 8 as (0 + 1) + (2 + 3), and 8 → 4 as 0 + 1. The sum of a row is `total` of its quarters:

    total = (q0 + q2) + (q1 + q3)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numba.core.config
import numpy as np
from llvmlite import ir
from numba.core import cgutils as _cgutils
from numba.core import types as _types
from numba.extending import intrinsic
from numpy.typing import NDArray

from pyke.core.compile import exact_kernel

Quarters = tuple[np.float32, np.float32, np.float32, np.float32]

cgutils: Any = _cgutils
types: Any = _types
_settings: Any = numba.core.config
_INT = ir.IntType(32)
_SUMS = {32: types.UniTuple(types.float32, 4), 8: types.float32}  # of each number of lanes


@exact_kernel
def total(quarters: Quarters) -> np.float32:
    """The sum of a row."""
    return np.float32((quarters[0] + quarters[2]) + (quarters[1] + quarters[3]))


@exact_kernel
def total_in_turn(quarters: Quarters) -> np.float32:
    """The sum of a row whose quarters are added one after the other."""
    return np.float32(((quarters[0] + quarters[1]) + quarters[2]) + quarters[3])


class Lanes(NamedTuple):
    """Functions over the columns of rows. Each returns sums of squares.

    squares(a, y, b, x)                      Σ (a[y] − b[x])²
    pull(scale, a, y, b, x, force)           the same, and force += scale · (a[y] − b[x])
    push(scale, divisor, a, y, b, x, force)  the same, and force += scale · (b[x] − a[y]) / divisor
    move(scale, force, a, x, out)            Σ (scale · force)², and out[x] = a[x] + scale · force
    """

    squares: Callable[..., Any]
    pull: Callable[..., Any]
    push: Callable[..., Any]
    move: Callable[..., Any]


class _Writer:
    """Writes the instructions of one function."""

    def __init__(self, context: Any, builder: Any, kinds: Any, arguments: Any, lanes: int) -> None:
        self.context, self.builder, self.kinds, self.arguments = context, builder, kinds, arguments
        self.lanes, self.size = lanes, lanes  # the last columns of a row may fill half the lanes

    def row(self, array: int, at: int | None = None) -> tuple[Any, Any]:
        """The first column of a row of an argument, and the number of columns."""
        kind = self.kinds[array]
        made = self.context.make_array(kind)(self.context, self.builder, self.arguments[array])
        *_, columns = cgutils.unpack_tuple(self.builder, made.shape)
        if at is None:
            return made.data, columns
        number = self.context.cast(self.builder, self.arguments[at], self.kinds[at], types.intp)
        return self.builder.gep(made.data, [self.builder.mul(number, columns)]), columns

    def spread(self, argument: int) -> Any:
        """A vector in which every lane is the same number."""
        nothing = ir.Constant(_vector(self.size), ir.Undefined)
        one = self.builder.insert_element(nothing, self.arguments[argument], ir.Constant(_INT, 0))
        return self._pick(one, [0] * self.size)

    def load(self, row: Any, at: Any) -> Any:
        """The columns of a row from `at`."""
        return self.builder.load(self._place(row, at), align=4)

    def store(self, value: Any, row: Any, at: Any) -> None:
        """Replace the columns of a row from `at`."""
        self.builder.store(value, self._place(row, at), align=4)

    def _place(self, row: Any, at: Any) -> Any:
        return self.builder.bitcast(self.builder.gep(row, [at]), _vector(self.size).as_pointer())

    def fused(self, factor: Any, other: Any, summand: Any) -> Any:
        """factor · other + summand, rounded once."""
        kind = ir.FunctionType(factor.type, [factor.type] * 3)
        name = f"llvm.fma.v{factor.type.count}f32"
        function = cgutils.get_or_insert_function(self.builder.module, kind, name)
        return self.builder.call(function, [factor, other, summand])

    def sums_of_squares(self, columns: Any, vector_at: Callable[[Any], Any]) -> Any:
        """Sums of the squares of the vectors at columns 0, lanes, 2 · lanes, …"""
        builder, number = self.builder, columns.type
        sums = cgutils.alloca_once_value(builder, ir.Constant(_vector(self.lanes), None))
        zero, step = ir.Constant(number, 0), ir.Constant(number, self.lanes)
        rest = builder.and_(columns, ir.Constant(number, self.lanes - 1))
        whole = builder.sub(columns, rest)

        def add(at: Any) -> None:
            found = vector_at(at)
            if self.size < self.lanes:  # the other half is 0
                found = self.builder.shuffle_vector(
                    found, ir.Constant(found.type, None), _numbers(range(self.lanes))
                )
            builder.store(self.fused(found, found, builder.load(sums)), sums)

        with cgutils.for_range_slice(builder, zero, whole, step, number) as (at, _):
            add(at)
        with builder.if_then(builder.icmp_unsigned("!=", rest, zero)):
            self.size = self.lanes // 2
            add(whole)
            self.size = self.lanes
        return self._summed(builder.load(sums))

    def _summed(self, vector: Any) -> Any:
        """The lanes of a complete row as four sums, those of a quarter as one."""
        builder, part = self.builder, self.lanes // 4
        first, second, third, fourth = (
            self._pick(vector, range(k * part, (k + 1) * part)) for k in range(4)
        )
        vector = builder.fadd(builder.fadd(first, second), builder.fadd(third, fourth))
        halves = (self._pick(vector, range(k, k + part // 2)) for k in (0, part // 2))
        vector = builder.fadd(*halves)
        found = [builder.extract_element(vector, ir.Constant(_INT, i)) for i in range(part // 2)]
        return cgutils.pack_array(builder, found) if len(found) > 1 else found[0]

    def _pick(self, vector: Any, lanes: Any) -> Any:
        return self.builder.shuffle_vector(vector, vector, _numbers(lanes))


def _vector(size: int) -> Any:
    return ir.VectorType(ir.FloatType(), size)


def _numbers(values: Any) -> Any:
    return ir.Constant(ir.VectorType(_INT, len(values)), list(values))


def _compiled_squares(lanes: int) -> Any:
    @intrinsic
    def squares(_typing: Any, a: Any, y: Any, b: Any, x: Any) -> Any:
        def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            writer = _Writer(context, builder, signature.args, arguments, lanes)
            (far, columns), (near, _) = writer.row(0, 1), writer.row(2, 3)
            return writer.sums_of_squares(
                columns, lambda at: builder.fsub(writer.load(far, at), writer.load(near, at))
            )

        return _SUMS[lanes](a, y, b, x), write

    return squares


def _compiled_pull(lanes: int) -> Any:
    @intrinsic
    def pull(_typing: Any, scale: Any, a: Any, y: Any, b: Any, x: Any, force: Any) -> Any:
        def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            writer = _Writer(context, builder, signature.args, arguments, lanes)
            (far, columns), (near, _), (out, _) = writer.row(1, 2), writer.row(3, 4), writer.row(5)

            def difference(at: Any) -> Any:
                found = builder.fsub(writer.load(far, at), writer.load(near, at))
                changed = writer.fused(writer.spread(0), found, writer.load(out, at))
                writer.store(changed, out, at)
                return found

            return writer.sums_of_squares(columns, difference)

        return _SUMS[lanes](scale, a, y, b, x, force), write

    return pull


def _compiled_push(lanes: int) -> Any:
    @intrinsic
    def push(
        _typing: Any, scale: Any, divisor: Any, a: Any, y: Any, b: Any, x: Any, force: Any
    ) -> Any:
        def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            writer = _Writer(context, builder, signature.args, arguments, lanes)
            (far, columns), (near, _), (out, _) = writer.row(2, 3), writer.row(4, 5), writer.row(6)

            def difference(at: Any) -> Any:
                found = builder.fsub(writer.load(near, at), writer.load(far, at))
                change = builder.fdiv(builder.fmul(writer.spread(0), found), writer.spread(1))
                writer.store(builder.fadd(writer.load(out, at), change), out, at)
                return found

            return writer.sums_of_squares(columns, difference)

        return _SUMS[lanes](scale, divisor, a, y, b, x, force), write

    return push


def _compiled_move(lanes: int) -> Any:
    @intrinsic
    def move(_typing: Any, scale: Any, force: Any, a: Any, x: Any, out: Any) -> Any:
        def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            writer = _Writer(context, builder, signature.args, arguments, lanes)
            (push, columns), (old, _), (new, _) = writer.row(1), writer.row(2, 3), writer.row(4, 3)

            def change(at: Any) -> Any:
                found = builder.fmul(writer.spread(0), writer.load(push, at))
                writer.store(builder.fadd(writer.load(old, at), found), new, at)
                return found

            return writer.sums_of_squares(columns, change)

        return _SUMS[lanes](scale, force, a, x, out), write

    return move


def _compiled(lanes: int) -> Lanes:
    """The functions as machine instructions."""
    return Lanes(
        _compiled_squares(lanes),
        _compiled_pull(lanes),
        _compiled_push(lanes),
        _compiled_move(lanes),
    )


def _interpreted(lanes: int) -> Lanes:
    """The same in Python, for NUMBA_DISABLE_JIT=1."""

    def sums(found: NDArray[np.float32]) -> Any:
        blocks = np.zeros((-(-len(found) // lanes), lanes), np.float32)
        blocks.ravel()[: len(found)] = found * found
        first, second, third, fourth = blocks.sum(axis=0, dtype=np.float32).reshape(4, -1)
        first = (first + second) + (third + fourth)
        quarters = first[: len(first) // 2] + first[len(first) // 2 :]
        return tuple(quarters) if len(quarters) > 1 else quarters[0]

    def squares(a: Any, y: int, b: Any, x: int) -> Any:
        return sums(a[y] - b[x])

    def pull(scale: Any, a: Any, y: int, b: Any, x: int, force: Any) -> Any:
        force += scale * (a[y] - b[x])
        return sums(a[y] - b[x])

    def push(scale: Any, divisor: Any, a: Any, y: int, b: Any, x: int, force: Any) -> Any:
        force += scale * (b[x] - a[y]) / divisor
        return sums(a[y] - b[x])

    def move(scale: Any, force: Any, a: Any, x: int, out: Any) -> Any:
        found = sums(scale * force)
        out[x] = a[x] + scale * force
        return found

    return Lanes(squares, pull, push, move)


_make = _interpreted if _settings.DISABLE_JIT else _compiled
WIDE, NARROW = _make(32), _make(8)
