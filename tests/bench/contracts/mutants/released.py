"""Mistakes of released code, and wrong copies in methods that compress."""

from tests.algorithms import compressed_mutants, mutants
from tests.bench.contracts.mutants.table import mutant

for _cls in (mutants.MoTEFReleased, mutants.FSPDAReleased, mutants.DeTAGBuffer, mutants.DeTAGStart):
    mutant(_cls)
COPIES = [mutant(cls) for cls in compressed_mutants.MUTANTS.values()]
"""They equal the right methods as long as nothing is compressed."""
