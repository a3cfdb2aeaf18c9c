"""Compressors: the rule written out, the bits that travel by hand, and the bounds that theory needs."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

import bench
from bench.base.errors import UserError
from bench.base.options import attribute_options
from bench.base.randomness import generator
from bench.base.registry import compressors
from bench.contracts import compressors as contract
from bench.network.bits import fixed_sum, pack_bits, unpack_bits
from tests.bench.network import literal_compressors as literal
from tests.helpers.few import few

CONF = Path(bench.__file__).parents[1] / "conf" / "compressor"
DTYPES = (torch.float32, torch.float64)
FORMS = [
    ("none", {}),
    ("top_k", {}),
    ("top_k", {"k": 3}),
    ("random_k", {}),
    ("random_k", {"fraction": 0.4, "unbiased": True}),
    ("qsgd", {}),
    ("qsgd", {"levels": 1}),
    ("qsgd", {"levels": 4, "unbiased": True}),
    ("sign", {}),
]


def draws(seed=0):
    return lambda row: generator(seed, row, "test")


def normal(rows, size, dtype=torch.float64):
    return torch.from_numpy(np.random.default_rng(size).standard_normal((rows, size))).to(dtype)


def compress(name, v, seed=0, **options):
    made = compressors[name](**options)
    made.check(v.shape[1])
    with torch.inference_mode():
        return made.unpack(made.pack(v, draws(seed)), v.shape[1], v.dtype, draws(seed))


@pytest.mark.parametrize(("name", "options"), FORMS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", few([5, 64, 301], [5, 301]))
def test_as_the_rule_says(name, options, dtype, size):
    v = normal(4, size, dtype)
    v[1, ::2] = 0
    v[2] = v[2].sign()  # nothing but ties
    v[3] = 0
    c = compress(name, v, **options)
    for row in range(4):
        expected = getattr(literal, name)(v[row].double().numpy(), draws()(row), **options)
        np.testing.assert_allclose(c[row].numpy(), expected, rtol=1e-12 if dtype == torch.float64 else 3e-7, atol=0)


@pytest.mark.parametrize(
    ("name", "options", "size", "bytes32", "bytes64"),
    [
        ("none", {}, 1000, 1000 * 4, 1000 * 8),
        ("top_k", {"k": 10}, 1000, 10 * 4 + 13, 10 * 8 + 13),  # 10 places of 10 bits are 100 bits
        ("top_k", {"k": 1}, 1024, 4 + 2, 8 + 2),  # 10 bits
        ("top_k", {"k": 1}, 1025, 4 + 2, 8 + 2),  # 11 bits
        ("top_k", {"k": 8}, 1025, 8 * 4 + 11, 8 * 8 + 11),
        ("top_k", {"k": 7}, 7, 7 * 4 + 3, 7 * 8 + 3),  # 7 places of 3 bits are 21 bits
        ("top_k", {}, 1, 4, 8),  # the only place needs no name
        ("top_k", {}, 37, 4 * 4 + 3, 4 * 8 + 3),  # k = 3.7 rounded; 4 places of 6 bits
        ("random_k", {"k": 10}, 1000, 10 * 4, 10 * 8),
        ("random_k", {}, 3, 4, 8),  # k = 0.3 rounded, and at least one
        ("qsgd", {}, 1000, 4 + 625, 8 + 625),  # −15 … 15 are 31 values: 5 bits
        ("qsgd", {"levels": 16}, 1000, 4 + 750, 8 + 750),  # 33 values: 6 bits
        ("qsgd", {"levels": 1}, 9, 4 + 3, 8 + 3),  # 3 values: 2 bits
        ("sign", {}, 1000, 4 + 125, 8 + 125),
        ("sign", {}, 1, 4 + 1, 8 + 1),
    ],
)
def test_payload_sizes(name, options, size, bytes32, bytes64):
    made = compressors[name](**options)
    for dtype, expected in ((torch.float32, bytes32), (torch.float64, bytes64)):
        payload = made.pack(normal(2, size, dtype), draws())
        assert (payload.dtype, payload.shape) == (torch.uint8, (2, expected))


def test_the_bits_by_hand():
    v = torch.tensor([[0.0, -3.0, 1.0, 3.0, 0.5]])
    floats = np.float32([-3, 3]).tobytes()
    assert bytes(compressors["top_k"](k=2).pack(v, draws())[0].tolist()) == floats + bytes([0b011_001])
    v = torch.tensor([[1.0, -2.0, 0.0]])
    assert bytes(compressors["sign"]().pack(v, draws())[0].tolist()) == np.float32([1]).tobytes() + bytes([0b010])
    v = torch.tensor([[0.0, 5.0, -0.0, 0.0]])  # a level each that chance cannot move
    expected = np.float32([5]).tobytes() + bytes([0b01_01_10_01])
    assert bytes(compressors["qsgd"](levels=1).pack(v, draws())[0].tolist()) == expected
    expected = np.float32([5]).tobytes() + bytes([0b01_00])
    assert bytes(compressors["qsgd"](levels=1).pack(torch.tensor([[-5.0, 0.0]]), draws())[0].tolist()) == expected


@given(st.integers(0, 33).flatmap(lambda w: st.tuples(st.just(w), st.lists(st.integers(0, 2**w - 1), min_size=1))))
@settings(deadline=None, max_examples=60)
def test_integers_are_packed_without_gaps(case):
    width, numbers = case
    packed = pack_bits(torch.tensor([numbers, numbers[::-1]]), width)
    bits = [(number >> b) & 1 for number in numbers for b in range(width)]
    assert packed[0].tolist() == np.packbits(np.array(bits, np.uint8), bitorder="little").tolist()
    assert unpack_bits(packed, len(numbers), width).tolist() == [numbers, numbers[::-1]]


@pytest.mark.parametrize("size", [1, 2, 7, 100_003])
def test_a_sum_has_one_order(size):
    v = normal(3, size) ** 5
    threads, sums = torch.get_num_threads(), fixed_sum(v)
    try:
        for count in (1, 2):
            torch.set_num_threads(count)
            assert torch.equal(torch.cat([fixed_sum(row) for row in v.split(1)]), sums)
            assert torch.equal(fixed_sum(v.repeat(5, 1))[3:6], sums)
    finally:
        torch.set_num_threads(threads)
    for row in range(3):
        assert sums[row].item() == pytest.approx(math.fsum(v[row].tolist()), abs=1e-14 * v[row].abs().sum().item())


scale = st.floats(1e-100, 1e100)
numbers = st.one_of(st.just(0.0), scale, scale.map(lambda x: -x), st.sampled_from([1.0, -1.0]))


@given(st.lists(numbers, min_size=1, max_size=40), st.data())
@example([2.0, 2.0, 2.0, 2.0], None)  # here top_k's bound is an equality
@settings(deadline=None, max_examples=60)
def test_top_k_contracts(values, data):
    v, size = torch.tensor([values], dtype=torch.float64), len(values)
    k = 1 if data is None else data.draw(st.integers(1, size))
    c, made = compress("top_k", v, k=k), compressors["top_k"](k=k)
    error, whole = (c - v).square().sum().item(), v.square().sum().item()
    assert error <= (1 - made.delta(size)) * whole * (1 + 1e-12)
    assert made.delta(size) == k / size
    rest = sorted(abs(x) for x in values)[: size - k]
    assert error == pytest.approx(sum(x * x for x in rest), rel=1e-12, abs=0)


@given(st.lists(numbers, min_size=1, max_size=40))
@example([-3.0])  # δ = 1: exact
@example([0.0, 0.0, -3.0, 0.0])  # here the bound is an equality
@settings(deadline=None, max_examples=60)
def test_the_error_of_sign_is_its_formula(values):
    """‖C(v) − v‖² = ‖v‖² − ‖v‖₁²/P, also where entries are 0: their sign is sent as 1."""
    v, size = torch.tensor([values], dtype=torch.float64), len(values)
    error, whole = (compress("sign", v) - v).square().sum().item(), v.square().sum().item()
    assert error == pytest.approx(whole - v.abs().sum().item() ** 2 / size, rel=1e-9, abs=1e-12 * whole)
    assert error <= (1 - compressors["sign"]().delta(size)) * whole + 1e-12 * whole


TRIALS, SIGMAS = 800, 5
"""A mean of keyed draws may be five standard errors off; twice what is claimed would be more than ten off."""


def sample(name, v, **options):
    """Mean of C(v), and ‖C(v) − v‖²/‖v‖² with its standard error."""
    c = compress(name, v.repeat(TRIALS, 1), seed=3, **options)
    error = (c - v).square().sum(1) / v.square().sum()
    return c.mean(0), error.mean().item(), error.std().item() / TRIALS**0.5


@pytest.mark.parametrize(("size", "k"), [(10, 1), (10, 4), (3, 3)])
def test_the_error_of_random_k_is_its_formula(size, k):
    v = normal(1, size)
    _, error, deviation = sample("random_k", v, k=k)
    assert error == pytest.approx(1 - k / size, abs=SIGMAS * deviation + 1e-12)
    assert compressors["random_k"](k=k).delta(size) == k / size
    mean, error, deviation = sample("random_k", v, k=k, unbiased=True)
    omega = compressors["random_k"](k=k, unbiased=True).omega(size)
    assert omega == pytest.approx(size / k - 1)
    assert error == pytest.approx(omega, abs=SIGMAS * deviation + 1e-12)
    assert ((mean - v[0]).abs() <= v[0].abs() * SIGMAS * (omega / TRIALS) ** 0.5 + 1e-12).all()


@pytest.mark.parametrize(("size", "levels"), [(20, 1), (20, 4), (20, 15), (200, 3), (1, 1)])
def test_the_error_of_qsgd_is_its_formula(size, levels):
    v = normal(1, size)
    share = (levels * v.abs() / v.norm())[0]
    up = share - share.floor()
    exact = (up * (1 - up)).sum().item() / levels**2  # E‖C(v) − v‖²/‖v‖², a Bernoulli variance for each number
    mean, error, deviation = sample("qsgd", v, levels=levels, unbiased=True)
    omega = compressors["qsgd"](levels=levels, unbiased=True).omega(size)
    assert omega == min(size / levels**2, size**0.5 / levels)
    assert exact <= omega
    assert error == pytest.approx(exact, abs=SIGMAS * deviation + 1e-12)
    assert (mean - v[0]).norm() <= SIGMAS * (exact / TRIALS) ** 0.5 * v.norm() + 1e-12
    _, error, deviation = sample("qsgd", v, levels=levels)
    delta = compressors["qsgd"](levels=levels).delta(size)
    assert delta == pytest.approx(1 / (1 + omega))
    assert error <= 1 - delta + SIGMAS * deviation
    assert error == pytest.approx((exact + omega**2) / (1 + omega) ** 2, abs=SIGMAS * deviation + 1e-12)


def test_chance_never_lifts_the_largest_level():
    """15 + u rounds to 16 for the largest u below 1."""

    class Unlucky:
        def random(self, size):
            return np.full(size, np.nextafter(1, 0))

    v, made = torch.tensor([[0.0, -3.0]], dtype=torch.float64), compressors["qsgd"](unbiased=True)
    assert made.unpack(made.pack(v, lambda row: Unlucky()), 2, v.dtype, draws())[0, 1].item() == pytest.approx(-3)


@pytest.mark.parametrize(
    ("name", "options", "values"),
    [
        ("top_k", {"k": 7}, r"compressor.k .*6.*7"),
        ("random_k", {"k": 100}, r"compressor.k .*6.*100"),
        ("top_k", {"k": 0}, r"compressor.k .*1.*0"),
        ("top_k", {"fraction": 1.5}, r"compressor.fraction .*1.*1\.5"),
        ("random_k", {"fraction": 0}, r"compressor.fraction .*0"),
        ("qsgd", {"levels": 2**31}, r"compressor.levels .*2147483647"),
        ("sign", {"k": 2}, r"'compressor.k'"),
    ],
)
def test_rejects_invalid_options(name, options, values):
    with pytest.raises(UserError, match=values):
        compressors[name](**options).check(6)


def test_accepts_extreme_options():
    assert torch.equal(compress("top_k", v := normal(2, 6), k=6), v)
    assert torch.equal(compress("random_k", v, fraction=1, unbiased=True), v)
    assert torch.allclose(compress("qsgd", v, levels=2**31 - 1), v, rtol=1e-8, atol=1e-8)
    assert compressors["top_k"](k=2, fraction=0.5).count(6) == 2  # k wins


def test_conf_matches_the_code():
    files = {path.stem: yaml.safe_load(path.read_text()) for path in CONF.glob("*.yaml")}
    for name, said in files.items():
        options = attribute_options(compressors[name])
        assert said == {"name": name, **{key: option.default for key, option in options.items()}}
    assert {name for name in compressors if compressors[name].__module__.startswith("bench.")} == set(files)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
@pytest.mark.parametrize(("name", "options"), FORMS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_gpu_sends_the_same_bytes(name, options, dtype):
    v, made = normal(4, 3001, dtype), compressors[name](**options)
    v[1], v[2, 5], v[3] = 0, math.nan, v[3].sign()
    payload = made.pack(v.cuda(), draws())
    assert torch.equal(payload.cpu(), made.pack(v, draws()))
    there, here = (made.unpack(p, 3001, dtype, draws()).cpu() for p in (payload, payload.cpu()))
    torch.testing.assert_close(there, here, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("name", list(compressors))
def test_properties(name):
    for check in contract.CHECKS:
        check(compressors[name])


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "variant"), [("top_k", {"k": 9}), ("qsgd", {"levels": 1})])
def test_properties_of_variants(name, variant):
    for check in contract.CHECKS:
        check(type(name, (compressors[name],), variant))
