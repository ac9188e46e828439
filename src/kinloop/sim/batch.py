"""A batch on its way: the state of every batch row, and what happened to it.

A kernel stops a row before a step that is too long for it: joints that turn too far, loops that do not close. The row
then takes that step in parts, as many as it needs, and the others never notice: what a row does depends on nothing
but itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from kinloop.scalar import Array
from kinloop.sim.energy_monitor import begin_ledger
from kinloop.sim.engine import Engine
from kinloop.sim.reasons import Stop, judge
from kinloop.sim.state import RUNNING, State, all_are, unchecked
from kinloop.sim.status import Fault, Status
from kinloop.sim.stepper import StepState
from kinloop.sim.watch import BEGINNING, Watch, alike

if TYPE_CHECKING:
    from kinloop.compiler.run.variant import First
    from kinloop.sim.recorder import Recorder

MOST_PARTS = 2**15
"""A step of length dt is taken in so many parts at most."""

GROWTH = 1.6
"""How many times as many parts are tried next: steps of other lengths meet other instants."""

FEWEST = 8
"""Parts to begin with."""

SETTLING = 16
"""Steps that a row goes on in as many parts after it last needed more; then with fewer and fewer."""


AT_ONCE = 1024
"""Parts of steps that are taken in one kernel call at most, which keeps their records small."""


_NO_STEPS = np.zeros(1)


class Batch:
    """Batch rows that begin at a state, with the kernels of an engine and steps of length dt [s].

    `numbers` (B or 1, n) are their open numbers; those of the model, if not given.
    """

    def __init__(self, state: State, engine: Engine, dt: float, numbers: Array | None = None) -> None:
        rows = len(state)
        self.engine, self.dt, self.nu = engine, dt, engine.system.nu
        self.began, self.made_by = state.t, state.made_by
        self._from, self._since = state.t, _NO_STEPS  # steps of this length began there, after so many others
        self._places = engine.places(rows)
        self._given, self.state, self.watch = self._places.stepping, self._places.state, self._places.watch
        for mine, x in zip(self.state, (state.q, state.qd, BEGINNING, state.memory), strict=True):
            mine[:] = x
        if engine.system.open.names:
            self.numbers[:] = engine.system.open.usual if numbers is None else numbers
        self.reasons = [""] * rows
        settled = state.h == dt  # all rows took their last step whole
        if not settled and not all_are(RUNNING, state.status):
            self.watch.status[:] = state.status
            for k in np.flatnonzero(~state.ok):
                self.reasons[k] = f"had stopped at t = {state.t[k]:.9g} s, before this rollout began"
        if engine.monitor:
            begin_ledger(self.watch, np.asarray(engine.reading(state.q, state.qd)[1]))
        self._pace = state.pace.copy()
        self.parts, self.unsettled = self._pace[:, 0], self._pace[:, 1]
        self.substeps = np.zeros(rows, dtype=int)
        self._whole = settled or all_are(1, self.parts)  # no row goes in parts
        self._spaced = settled  # all rows remember steps of length dt
        self._sought = False  # most rows waited for a search

    def __len__(self) -> int:
        return len(self.state.q)

    @property
    def times(self) -> Array:
        """The times of all rows (B,)."""
        steps: Array = self.watch.steps if self._since is _NO_STEPS else self.watch.steps - self._since
        return self._from + steps * self.dt

    def shorten(self, h: float) -> None:
        """Let steps be h long from now on."""
        self._from, self._since = self.times, self.watch.steps.copy()
        self.dt, self._spaced = h, False

    def aside(self, h: float) -> Batch:
        """A batch that begins where this one is, with steps of length h; this one never notices."""
        return Batch(self.read(), self.engine, h, *self._numbers(slice(None)))

    @property
    def numbers(self) -> Array:
        """The open numbers of all rows (B, n): whoever writes there changes what the next steps are taken with."""
        return self._given.arrays["numbers"]

    def _numbers(self, k: Array | slice) -> tuple[Array, ...]:
        """Those of rows k, where there are any."""
        return (self.numbers[k],) if self.engine.system.open.names else ()

    def restart(self, k: Array, q: Array, qd: Array, memory: Array | None = None) -> None:
        """Let rows k (n,) begin anew at closed positions q and velocities qd (n, ...), where the others are in time.

        They remember nothing, or `memory`.
        """
        steps = self.until[k, 0]
        self.state.q[k], self.state.qd[k], self.state.watch[k] = q, qd, BEGINNING
        self.state.memory[k] = 0.0 if memory is None else memory
        self.watch.steps[k] = steps
        self._pace[k] = 1, 0
        for row in k[[bool(self.reasons[row]) for row in k]] if any(self.reasons) else ():
            self.reasons[row] = ""
        self._whole = all_are(1, self.parts)
        self._spaced = self._spaced and self.engine.start is None

    @property
    def running(self) -> Array:
        """Which rows are on their way (B,)."""
        return np.asarray(self.watch.has(Status.RUNNING))

    def status(self, k: int) -> Status:
        """The status of row k."""
        return Status(int(self.watch.status[k]))

    def advance(self, u: Array, start: int, n: int, recorder: Recorder, threads: int | None) -> None:
        """Bring every row from step `start` n steps further under u (B or 1, n or 1, nu)."""
        if n > 1 and self._sought:
            for k in range(n):
                self.advance(u if u.shape[1] == 1 else u[:, k : k + 1], start + k, 1, recorder, threads)
            self._sought = False
            return
        self.until.fill(start + n)
        if self.engine.system.clock:
            (self._given.arrays["clock"][:],) = self._clock(self._since, self.dt)
        first = None if self._spaced else self._begin(u, threads)
        if not self._whole:
            self._hold_back()
        self._advance_all(u, start, n, recorder, threads, first)
        if self.engine.searching and not self._sought:
            self._look(u, start, n, recorder, threads)
        if all_are(RUNNING, self.watch.status):
            return
        while len(waiting := np.flatnonzero(self.watch.has(Status.TOO_LONG))):
            for group in alike(waiting, self.watch.steps, self.parts, self.unsettled):
                self._in_parts(group, self._left(u, group, start), recorder, threads)
            self._hold_back()
            # rows that go on with whole steps, and rows that have stopped, whose last state is recorded from now on
            whole = waiting[~self.watch.has(Status.TOO_LONG)[waiting] & (self.watch.steps < self.until[:, 0])[waiting]]
            for group in alike(whole, self.watch.steps):
                self._advance(group, u, start, n, recorder, threads, n)

    def _look(self, u: Array, start: int, n: int, recorder: Recorder, threads: int | None) -> None:
        """Bring rows further that wait for a search before their next step: with one, then again by themselves.

        Those that wait at once again take twice as many steps with searches before the next try. Where most rows wait,
        all steps of the next n begin with one.
        """
        waiting, patience = self._waiting(), np.ones(len(self), dtype=int)
        self._sought = 2 * len(waiting) > len(self)
        while len(waiting):
            for group in alike(waiting, self.watch.steps, patience):
                self._advance(group, u, start, n, recorder, threads, int(patience[group[0]]))
                patience[group] *= 2
            for group in alike(self._waiting(), self.watch.steps):
                done = self.watch.steps[group]
                self._advance(group, u, start, n, recorder, threads)
                patience[group[self.watch.steps[group] > done]] = 1
            waiting = self._waiting()

    def _waiting(self) -> Array:
        """Rows that are on their way and not yet where they should be."""
        return np.flatnonzero(self.watch.has(Status.RUNNING) & (self.watch.steps < self.until[:, 0]))

    def _clock(self, steps: Array, h: float, k: Array | slice = slice(None)) -> tuple[Array, ...]:
        """What the clock of rows k says (rows, 1) that take steps of length h from step `steps` (B,) on.

        To this it adds h for every step that a row has taken. Nothing where time does not matter.
        """
        if not self.engine.system.clock:
            return ()
        return ((self._from + (steps - self._since) * self.dt - steps * h)[k, None],)

    def _left(self, u: Array, group: Array, start: int) -> Array:
        """What is left of the controls u, which begin at step `start`, for rows that all are at the same step."""
        u = self._spread(u)[group]
        return u if u.shape[1] == 1 else u[:, int(self.watch.steps[group[0]]) - start :]

    def _spread(self, u: Array) -> Array:
        """Controls (B or 1, ...) as those of every row (B, ...)."""
        return u if len(u) == len(self) else np.broadcast_to(u, (len(self), *u.shape[1:]))

    def _begin(self, u: Array, threads: int | None) -> First | None:
        """Let rows that have no past remember what it would have been under controls u (B or 1, n or 1, nu).

        Where that is all batch rows, this is left to who takes their steps: what it has to do first.
        """
        if self.engine.start is None:
            return None
        memory = self.state.memory
        blank = ~np.any(memory, axis=1) if memory.any() else True
        new = np.flatnonzero(blank & self.watch.has(Status.RUNNING))
        if len(new) == len(self) and (remember := self.engine.remembering(self._places)) is not None:
            return remember
        first = self._spread(u[:, 0])
        if len(new) == len(self):
            self.state.memory[:] = self._remembering(self.state, first, self.dt, threads, slice(None)).memory
        elif len(new):
            self.state.memory[new] = self._remembering(self.state.at(new), first[new], self.dt, threads, new).memory
        return None

    def _remembering(self, state: StepState, u: Array, h: float, threads: int | None, k: Array | slice) -> StepState:
        """Rows k that forget what they remember for what the equations of motion say about the time before."""
        start, now = self.engine.start, (*self._clock(self.watch.steps, 0.0, k), *self._numbers(k))
        if start is None or not len(state.q):
            return state
        if len(state.q) == 1:  # a kernel takes one state faster than a batch of one
            memory, lost = (x[None] for x in start(state.q[0], state.qd[0], u[0], np.array([h]), *(x[0] for x in now)))
        else:
            memory, lost = start(state.q, state.qd, u, np.full((len(u), 1), h), *now, threads=threads)
        return state._replace(memory=np.where(lost, state.memory, memory) if lost.any() else memory)

    def _hold_back(self) -> None:
        """Rows that go in parts wait for their next step."""
        more = self.watch.has(Status.RUNNING) & (self.parts > 1) & (self.watch.steps < self.until[:, 0])
        self.watch.status[more] = Status.TOO_LONG

    @property
    def until(self) -> Array:
        """Steps that rows take in all (B, 1)."""
        return self._given.arrays["until"]

    def _advance_all(
        self, u: Array, start: int, n: int, recorder: Recorder, threads: int | None, first: First | None
    ) -> None:
        """Bring all rows n steps further, or to where the kernel stops them, on their own arrays."""
        if not self._spaced and first is None:
            self.engine.respace(self.state, self.dt)
        self._spaced = True
        self._given.arrays["h"].fill(self.dt)
        self._given.arrays["u"][:] = u[:, 0]
        self._given.read_table("u", None if u.shape[1] == 1 else u)
        if search := self.engine.searching:
            now = self.state, self._given.arrays["u"], self.until, self.dt, threads
            self._given.arrays["searched"][:] = search(*now) if self._sought else search.nothing(len(self))
        every = recorder.follow(self._given, start, n)
        if self.engine.step.advance(self._given, n, every, threads, first) >= 0:
            # which says what is wrong
            self._remembering(self.state, self._spread(u[:, 0]), self.dt, threads, slice(None))

    def _advance(
        self, k: Array, u: Array, start: int, n: int, recorder: Recorder, threads: int | None, some: int = 0
    ) -> None:
        """Bring rows k, all at one step, under u of `advance` to step `start` + n, or to where the kernel stops them.

        They go alone, or `some` steps at most with a search before each.
        """
        done = int(self.watch.steps[k[0]])
        u, n = self._left(u, k, start), min(some or n, start + n - done)
        h, keep, told = self.dt, recorder.keep, (*self._clock(self._since, self.dt, k), *self._numbers(k))
        every, now = recorder.stride(done, n), (self.state.at(k), u, self.until[k])
        state, kept = self.engine.advance(*now, h, n, every, keep, threads, *told, alone=not some)
        self.state.put(k, state)
        recorder.store(k, done, every, kept)

    def _in_parts(self, k: Array, u: Array, recorder: Recorder, threads: int | None) -> None:
        """Steps of rows k that are alike, in equal parts: one, or as many as the rows stay unsettled.

        Rows that fail go up to their last whole step, and will try more parts or stop for good.
        """
        if self.parts[k[0]] == 1:
            self.unsettled[k], parts, n = SETTLING, FEWEST, SETTLING
        elif n := int(self.unsettled[k[0]]):
            parts = int(self.parts[k[0]])
        else:
            parts, n = max(2, int(self.parts[k[0]] / GROWTH)), 1
        left = int(self.until[k[0], 0] - self.watch.steps[k[0]])
        before, n = self.state.at(k), max(1, min(n, left, AT_ONCE // parts))
        if self.unsettled[k[0]] == SETTLING:  # a memory with which a step failed is doubtful
            before = self._remembering(before, u[:, 0], self.dt / parts, threads, k)
        good, whole, where = self._take(k, before, u, n, parts, recorder, threads)
        for group in alike(np.flatnonzero(~good & (whole > 0)), whole):
            some = int(whole[group[0]])
            self._take(k[group], before.at(group), u[group], some, parts, recorder, threads)
        self._try_more(k[~good], parts, where.at(~good))

    def _take(
        self, k: Array, before: StepState, u: Array, n: int, parts: int, recorder: Recorder, threads: int | None
    ) -> tuple[Array, Array, StepState]:
        """n steps of rows k, each in so many parts: which rows came through, how many steps they took, and to where.

        Rows that came through are moved on.
        """
        self._whole = self._spaced = False
        watch = before.watch.copy()
        named = Watch.of(watch)
        named.status[:] = Status.RUNNING
        until, total, first = named.steps[:, None] + float(n * parts), n * parts, int(named.steps[0])
        given, keep = before._replace(watch=watch), recorder.keep
        controls = u[:, :1] if u.shape[1] == 1 else np.repeat(u[:, :n], parts, axis=1)
        h, told = self.dt / parts, (*self._clock(self.watch.steps, self.dt / parts, k), *self._numbers(k))
        after, kept = self.engine.advance(given, controls, until, h, total, 1, keep, threads, *told)
        found = Watch.of(after.watch)
        good, whole = found.has(Status.RUNNING), (found.steps - first) // parts
        found.steps[:] = first + float(n)
        done = k[good]
        self.state.put(done, after.at(good))
        self.substeps[done] += total
        self.unsettled[done] = np.maximum(0, self.unsettled[done] - n)
        self.parts[done] = 1 if parts <= 2 and not np.any(self.unsettled[done]) else parts
        recorder.store(done, first, 1, recorder.over_parts({a: x[good] for a, x in kept.items()}, parts))
        return good, whole, after

    def _try_more(self, k: Array, parts: int, where: StepState) -> None:
        """Rows k failed in so many parts, at these states."""
        self.unsettled[k] = SETTLING
        self.parts[k] = int(np.ceil(GROWTH * parts))
        self.watch.status[k] = Status.TOO_LONG
        if parts > MOST_PARTS:
            for row, q, qd, watch in zip(k, where.q, where.qd, where.watch, strict=True):
                fault = Fault(int(Watch.of(watch).fault))
                self.stop(row, Stop(q, qd, fault, self.dt / parts, f"with the step in {parts:,} parts"))

    def stop(self, k: int, stop: Stop) -> None:
        """Row k stops for good in its next step."""
        found, done = judge(self.engine, stop), self.watch.steps[k]
        self.watch.status[k], self.watch.nearest[k] = found.status, min(self.watch.nearest[k], found.near)
        self.reasons[k] = f"stopped at t = {self.times[k]:.9g} s, in step {done + 1:.0f}: {found.why}"

    def resume(self, now: Sequence[Array]) -> None:
        """Let all rows go on from q, qd, watch and memory, which they came to by whole steps."""
        for mine, x in zip(self.state, now, strict=True):
            mine[:] = x

    def end(self) -> None:
        """Nobody looks at this batch any more."""
        self.engine.take_back(self._places)

    def read(self) -> State:
        """The states of all rows, from which they go on as if nothing had been read."""
        q, qd, memory = self.state.q.copy(), self.state.qd.copy(), self.state.memory.copy()
        time, status = self.times, self.watch.status.astype(int)
        whole = self._spaced and self._whole and all_are(RUNNING, status)
        fields = {"q": q, "qd": qd, "t": time, "status": status, "memory": memory, "pace": self._pace.copy()}
        return unchecked(State, fields | {"h": self.dt if whole else 0.0, "made_by": self.made_by})
