"""The contract of compressors notices those that break it."""

import numpy as np
import pytest
import torch

from bench.base.registry import compressors
from bench.contracts import compressors as contract
from bench.contracts.methods import CheckFailed
from bench.network.bits import from_bytes, to_bytes
from tests.helpers.cli import typed

Dense, TopK, RandomK, QSGD, Sign = (compressors[name] for name in ("none", "top_k", "random_k", "qsgd", "sign"))


class SendsFloats(Dense):
    def pack(self, v, draws):
        return v

    def unpack(self, payload, size, dtype, draws):
        return payload


class SendsWhatIsNotZero(Dense):
    def pack(self, v, draws):
        return to_bytes(v[:, : max(1, int((v.abs().amax(0) > 0).sum()))])

    def unpack(self, payload, size, dtype, draws):
        values = from_bytes(payload, dtype)
        return torch.nn.functional.pad(values, (0, size - values.shape[1]))


class AlwaysSingle(Dense):
    def unpack(self, payload, size, dtype, draws):
        return super().unpack(payload, size, dtype, draws).float()


class Modifies(Dense):
    def pack(self, v, draws):
        return to_bytes(v.mul_(2))


class DrawsElsewhere(QSGD):
    def pack(self, v, draws):
        return super().pack(v, lambda row: np.random.default_rng())


class Remembers(Dense):
    def pack(self, v, draws):
        self._kept = v
        return to_bytes(v.float())

    def unpack(self, payload, size, dtype, draws):
        kept = getattr(self, "_kept", None)
        return from_bytes(payload, torch.float32).to(dtype) if kept is None else kept


class DrawsInSecret(RandomK):
    shared_draws = False


class OneScaleForAll(Sign):
    def pack(self, v, draws):
        payload = super().pack(v, draws).clone()
        payload[:, : v.dtype.itemsize] = payload[:1, : v.dtype.itemsize]
        return payload


class DividesByTheNorm(Dense):
    def pack(self, v, draws):
        norm = v.norm(dim=1, keepdim=True)
        return to_bytes(v / norm * norm)


class NothingForZero(Sign):
    def unpack(self, payload, size, dtype, draws):
        return super().unpack(payload, size, dtype, draws) + 1e-30


class ForgetsNaN(TopK):
    def pack(self, v, draws):
        return super().pack(v.nan_to_num(), draws)


class SendsOnlyWhatIsDrawn(RandomK):
    def pack(self, v, draws):
        return to_bytes(v.gather(1, self._places(v, v.shape[1], draws)))


class Smallest(TopK):
    def pack(self, v, draws):
        return super().pack(1 / v.abs().clamp_min(1e-9), draws)


class Boasts(RandomK):
    def delta(self, size):
        return None if self.unbiased else min(1.0, 1.5 * self.count(size) / size)


class BoastsOmega(RandomK):
    def omega(self, size):
        return 0.7 * (size / self.count(size) - 1) if self.unbiased else None


class NeverScaled(RandomK):
    def unpack(self, payload, size, dtype, draws):
        return RandomK(k=self.k, fraction=self.fraction).unpack(payload, size, dtype, draws)


class RoundsDown(QSGD):
    class _Zeros:
        def random(self, size):
            return np.zeros(size)

    def pack(self, v, draws):
        return super().pack(v, (lambda row: self._Zeros()) if self.unbiased else draws)


class SignWithoutScale(Sign):
    def unpack(self, payload, size, dtype, draws):
        return super().unpack(payload, size, dtype, draws) * 3


class SaysBoth(Dense):
    def omega(self, size):
        return 0.0


class SaysNothing(Dense):
    def delta(self, size):
        return None


class ContractsNothing(Dense):
    def delta(self, size):
        return 0.0


class TakesNothing(TopK):
    k = 10**6


@pytest.mark.parametrize(
    ("cls", "check", "words"),
    [
        (SendsFloats, contract.payloads, "is torch.float64"),
        (SendsWhatIsNotZero, contract.payloads, "different lengths"),
        (AlwaysSingle, contract.payloads, "v is torch.float64"),
        (Modifies, contract.no_memory, "in place"),
        (DrawsElsewhere, contract.no_memory, "keeps a state"),
        (Remembers, contract.no_memory, "a receiver"),
        (DrawsInSecret, contract.draws, "shared_draws = True"),
        (OneScaleForAll, contract.rows, "other rows"),
        (DividesByTheNorm, contract.zero, "not 0"),
        (NothingForZero, contract.zero, "not 0"),
        (ForgetsNaN, contract.nothing_hidden, "nan at position 0"),
        (SendsOnlyWhatIsDrawn, contract.nothing_hidden, "is finite"),
        (Smallest, contract.bounds, "above"),
        (Boasts, contract.bounds, "above (1 − δ)"),
        pytest.param(BoastsOmega, contract.bounds, "above ω", marks=pytest.mark.thorough),
        pytest.param(NeverScaled, contract.bounds, "biased: ", marks=pytest.mark.thorough),
        (RoundsDown, contract.bounds, "biased: "),
        (SignWithoutScale, contract.bounds, "above (1 − δ)"),
        (SaysBoth, contract.bounds, "declare one"),
        (SaysNothing, contract.bounds, "declare one"),
        (ContractsNothing, contract.bounds, "(0, 1]"),
        (TakesNothing, contract.zero, "all sizes"),
    ],
)
def test_a_broken_promise_is_named(cls, check, words):
    with pytest.raises(CheckFailed) as broken:
        check(cls)
    assert words in str(broken.value)


def test_the_command_checks_compressors(tmp_path):
    done = typed("sign", script="bench/contract.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "sign"
    assert done.stdout.count("  PASS") == len(contract.CHECKS)
