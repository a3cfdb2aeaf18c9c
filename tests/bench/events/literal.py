"""The tape as a simulation in plain Python, one event after another, and the facts of its summary by loops."""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np

from bench.base.keyed import EVERYONE, generator
from bench.clock import Compute
from bench.events import Kind, draw_tape

D, P, G = int(Kind.DELIVER), int(Kind.PAIR), int(Kind.GRADIENT)


@dataclass(frozen=True)
class Case:
    """A graph with the times of its messages, and compute times."""

    nodes: int
    arcs: dict[tuple[int, int], tuple[int, int]]  # (source, target): delay, transfer
    compute: Compute
    steps: int = 40
    seed: int = 3
    options: dict = field(default_factory=dict)

    def tape(self, pattern, **changes):
        at = replace(self, **changes)
        source, target = zip(*at.arcs, strict=True)
        delays, transfer = (np.array(each) for each in zip(*at.arcs.values(), strict=True))
        options = {"transfer": transfer, **at.options}
        where = np.array(source), np.array(target), delays
        return draw_tape(pattern, *where, at.compute, at.seed, at.nodes, at.steps, **options)

    @property
    def unit(self):
        return round((self.compute.gradient_s + self.compute.other_s) * 1e9)

    def duration(self, i, k):
        c = self.compute.gradient_s * 1e9
        if i == self.compute.slow_node:
            c *= self.compute.slow_factor
        factor, extra = draws(self.compute, self.seed, self.nodes, k + 1)
        return int(np.rint(c * factor[0, i] + extra[0, i]))

    def uniform(self, node, purpose, k):
        return block(self.seed, node, purpose, k // 1024)[k % 1024]

    def sends(self, k):
        return "sends" not in self.options or bool(self.options["sends"](np.array([k]))[0])

    def to(self, i):
        return sorted(target for source, target in self.arcs if source == i)


def hashes(patterns):
    """Return the hashes of tapes of a ring."""
    arcs = {arc: (300 + arc[0], 40) for i in range(6) for arc in ((i, (i + 1) % 6), ((i + 1) % 6, i))}
    case = Case(6, arcs, Compute(1e-6, lognormal_sigma=0.5, exponential_s=1e-7, slow_node=0, slow_factor=4))
    return [case.tape(pattern).hash() for pattern in patterns]


@cache
def draws(compute, seed, nodes, step):
    return compute.draws(seed, nodes, step, 1)


@cache
def block(seed, node, purpose, number):
    return generator(seed, node, purpose, number).random(1024)


class Queue:
    """Events in the order of time, then rank, then content."""

    def __init__(self):
        self.events = []

    def add(self, time, rank, *content):
        heapq.heappush(self.events, (time, rank, content))

    def until(self, end):
        while self.events and self.events[0][0] <= end:
            yield heapq.heappop(self.events)


def messages(case, end):
    """Return the rows, and the times of losses and of replacements."""
    queue, rows, lost, replaced = Queue(), [], [], []
    waiting, busy = {}, set()
    send, arrive, free = 0, 1, 2

    def transmit(arc, number, sent, now):
        delay, transfer = case.arcs[arc]
        busy.add(arc)
        queue.add(now + transfer, free, arc)
        if case.uniform(arc[0], f"message loss {arc[1]}", number) < case.options.get("lost", 0):
            lost.append(now)
        else:
            queue.add(now + delay, arrive, arc, number, sent)

    for i in range(case.nodes):
        queue.add(case.duration(i, 0), send, i, 0, 0)
    for now, what, content in queue.until(end):
        if what == send:
            i, k, began = content
            rows.append((now, G, i, -1, k, began, now))
            queue.add(now + case.duration(i, k + 1), send, i, k + 1, now)
            for j in case.to(i) if case.sends(k) else ():
                if (i, j) in busy:
                    replaced += [now] * ((i, j) in waiting)
                    waiting[i, j] = k, now
                else:
                    transmit((i, j), k, now, now)
        elif what == arrive:
            (j, i), number, sent = content
            rows.append((now, D, i, j, number, sent, now))
        else:
            (arc,) = content
            busy.remove(arc)
            if arc in waiting:
                transmit(arc, *waiting.pop(arc), now)
    return sorted(rows), lost, replaced


def one_late(case, end):
    queue, rows = Queue(), []
    inbox = [{} for _ in range(case.nodes)]
    at = [0] * case.nodes  # the gradient that each node computes or waits with
    began, computed = [0] * case.nodes, [None] * case.nodes
    free = dict.fromkeys(case.arcs, 0)
    compute, arrive = 0, 1
    senders = [sorted(source for source, target in case.arcs if target == i) for i in range(case.nodes)]

    def complete(i, now):
        k = at[i]
        needed = [(j, k - 1) for j in senders[i]] if k else []
        if computed[i] is None or any(each not in inbox[i] for each in needed):
            return
        for j, number in needed:
            rows.append((now, D, i, j, number, inbox[i][j, number], now))
        rows.append((now, G, i, -1, k, began[i], computed[i]))
        for j in case.to(i):
            delay, transfer = case.arcs[i, j]
            begin = max(now, free[i, j])
            free[i, j] = begin + transfer
            queue.add(begin + delay, arrive, j, i, k, now)
        at[i], began[i], computed[i] = k + 1, now, None
        queue.add(now + case.duration(i, k + 1), compute, i)

    for i in range(case.nodes):
        queue.add(case.duration(i, 0), compute, i)
    for now, what, content in queue.until(end):
        i = content[0]
        if what == compute:
            computed[i] = now
        else:
            _, j, number, sent = content
            inbox[i][j, number] = sent
        complete(i, now)
    return sorted(rows)


def sides(case):
    """Return the active nodes: at even distance from node 0, or from the first node of another component."""
    side = {}
    for root in range(case.nodes):
        if root not in side:
            side[root] = 0
            stack = [root]
            while stack:
                i = stack.pop()
                for j in case.to(i):
                    if j not in side:
                        side[j] = 1 - side[i]
                        stack.append(j)
    return [side[i] == 0 and bool(case.to(i)) for i in range(case.nodes)]


def pairs(case, end):
    queue, rows, active, met = Queue(), [], sides(case), Counter()
    locked, asking = [False] * case.nodes, [[] for _ in range(case.nodes)]
    held = [None] * case.nodes  # a passive node's computed gradient that waits for the end of an exchange
    passive_ready, over, active_ready = 0, 1, 2

    def begin_gradient(i, k, now):
        queue.add(now + case.duration(i, k), active_ready if active[i] else passive_ready, i, k, now)

    def exchange(a, k, began, computed, p, now):
        locked[p] = True
        queue.add(now + max(case.arcs[a, p][0], case.arcs[p, a][0]), over, a, k, began, computed, p, now)

    for i in range(case.nodes):
        begin_gradient(i, 0, 0)
    for now, what, content in queue.until(end):
        if what == passive_ready:
            p, k, began = content
            if locked[p]:
                held[p] = k, began, now
            else:
                rows.append((now, G, p, -1, k, began, now))
                begin_gradient(p, k + 1, now)
        elif what == active_ready:
            a, k, began = content
            near = case.to(a)
            p = near[int(case.uniform(a, "peer", k) * len(near))]
            if locked[p]:
                asking[p].append((a, k, began, now))
            else:
                exchange(a, k, began, now, p, now)
        else:
            a, k, began, computed, p, since = content
            rows.append((now, P, a, p, met[a, p], since, now))
            rows.append((now, G, a, -1, k, began, computed))
            met[a, p] += 1
            begin_gradient(a, k + 1, now)
            if held[p]:
                k, began, computed = held[p]
                held[p] = None
                rows.append((now, G, p, -1, k, began, computed))
                begin_gradient(p, k + 1, now)
            locked[p] = False
            if asking[p]:
                exchange(*asking[p].pop(0), p, now)
    return sorted(rows)


def meetings(case, end):
    queue, rows, busy, waiting = Queue(), [], set(), []
    over, meet, ready = 0, 1, 2
    for i, j in case.arcs:
        if i < j:
            scale = case.unit / (case.options.get("rate", 1.0) * (1 / len(case.to(i)) + 1 / len(case.to(j))) / 2)
            gaps, total = generator(case.seed, EVERYONE, f"meetings {i} {j}", 0).standard_exponential(1024), 0.0
            for number, gap in enumerate(gaps):
                total += gap
                if total * scale > end + 1:
                    break
                queue.add(int(np.rint(total * scale)), meet, i, j, number)
    for i in range(case.nodes):
        queue.add(case.duration(i, 0), ready, i, 0, 0)
    for now, what, content in queue.until(end):
        if what == ready:
            i, k, began = content
            rows.append((now, G, i, -1, k, began, now))
            queue.add(now + case.duration(i, k + 1), ready, i, k + 1, now)
            continue
        if what == meet:
            waiting.append(content)
        else:
            i, j, number, since = content
            rows.append((now, P, i, j, number, since, now))
            busy -= {i, j}
        ahead = set()
        for i, j, number in list(waiting):
            if {i, j} & (busy | ahead):
                ahead |= {i, j}
            else:
                waiting.remove((i, j, number))
                busy |= {i, j}
                queue.add(now + max(case.arcs[i, j][0], case.arcs[j, i][0]), over, i, j, number, now)
    return sorted(rows)


def summary(case, pattern, at, rows, later, lost=(), replaced=()):
    """Return the facts at a time, from the rows until then and those of a simulation that ends later."""
    n, events, ages = case.nodes, [], []
    changes, made, computing = [0] * n, [0] * n, [0] * n
    for time, kind, node, peer, _, began, _ in rows:
        if kind == G:
            events.append(changes[node])
            ages.append(time - began)
            changes[node] = 0
            made[node] += 1
        else:
            changes[node] += 1
            if kind == P:
                changes[peer] += 1
    for _, kind, node, _, _, began, computed in later:
        if kind == G:
            computing[node] += max(0, min(computed, at) - began)
    idle = [(at - each) / 1e9 for each in computing]
    spoken = [sum(map(case.sends, range(count))) for count in made]
    sent = 0 if pattern in ("pairs", "meetings") else sum(spoken[i] for i, _ in case.arcs)
    gone = [sum(time <= at for time in times) for times in (lost, replaced)]
    out = {"virtual_s": at / 1e9}
    for name, values in (("gradients", made), ("idle_s", idle)):
        out |= {f"{name}_min": min(values), f"{name}_median": np.median(values), f"{name}_max": max(values)}
    out |= {"staleness_mean": np.mean(events or [0]), "staleness_max": max(events, default=0)}
    out |= {"staleness_s_mean": np.mean(ages or [0]) / 1e9, "staleness_s_max": max(ages, default=0) / 1e9}
    delivered = sum(row[1] == D for row in rows)
    out |= {"messages_under_way": sent - delivered - sum(gone)}
    return out | {"messages_lost": gone[0], "messages_replaced": gone[1]}
