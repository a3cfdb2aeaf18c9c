"""Wrong versions of the methods that send compressed differences. Without a compressor, all equal the right ones."""

from bench.base.registry import algorithms

COPIES = {"choco": ("h",), "beer": ("h", "q"), "docom": ("h", "q"), "motef": ("h", "q")}
"""By method: the copies that the neighbors hold, in the order of its messages."""


class Wrapped:
    """``mix`` whose answer to one of the compressed vectors is wrong. ``held`` is the copy H, and W H."""

    def __init__(self, mix, place, held):
        self.mix, self.place, self.held = mix, place, held

    def __call__(self, *tensors):
        return self.mix(*tensors)


class OwnUncompressed(Wrapped):
    """H⁺ = X in the place of H⁺ = H + C(X − H): a node's own copy differs from that of its neighbors."""

    def compressed(self, *tensors):
        pairs = list(self.mix.compressed(*tensors))
        pairs[self.place] = (tensors[self.place], pairs[self.place][1])
        return pairs


class NoMemory(Wrapped):
    """H⁺ = C(X) in the place of H⁺ = H + C(X − H): what the compressor drops is lost."""

    def compressed(self, *tensors):
        h, wh = self.held
        given = [v + h if i == self.place else v for i, v in enumerate(tensors)]
        pairs = list(self.mix.compressed(*given))
        c, wc = pairs[self.place]
        pairs[self.place] = (c - h, wc - wh)
        return pairs


def with_mistake(name: str, copy: str, wrong: type[Wrapped]) -> type:
    """The method with this mistake in one of its copies."""
    base = algorithms[name]

    def step(self, s, t, grad, mix):
        held = (getattr(s, copy), getattr(s, f"w{copy}"))
        return base.step(self, s, t, grad, wrong(mix, COPIES[name].index(copy), held))

    return type(f"{wrong.__name__}{copy.upper()}", (base,), {"step": step, "__doc__": wrong.__doc__})


MUTANTS = {
    (name, copy, wrong.__name__): with_mistake(name, copy, wrong)
    for name, copies in COPIES.items()
    for copy in copies
    for wrong in (OwnUncompressed, NoMemory)
}
"""By method, copy and mistake."""
