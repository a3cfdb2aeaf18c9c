import numpy as np

from bench.base.randomness import BLOCK, Blocks, generator


def test_draws_depend_on_their_key_only():
    keys = [(0, 0, "a", 0), (1, 0, "a", 0), (0, 1, "a", 0), (0, 0, "b", 0), (0, 0, "a", 1), (10, 0, "a", 0)]
    first = {key: generator(*key).standard_normal(4).tolist() for key in keys}
    again = {key: generator(*key).standard_normal(4).tolist() for key in reversed(keys)}
    assert first == again
    assert len({tuple(draw) for draw in first.values()}) == len(keys)


def test_streams_of_different_keys_are_uncorrelated():
    draws = np.stack([generator(seed, node, "x").standard_normal(4000) for seed in range(3) for node in range(3)])
    off = np.corrcoef(draws) - np.eye(9)
    assert np.abs(off).max() < 5 / np.sqrt(4000)


def test_blocks_return_any_sample_and_are_drawn_once():
    drawn = []
    blocks = Blocks(lambda stream, block: drawn.append((stream, block)) or (stream, block))
    assert blocks.at(0) == ((0, 0), 0)
    assert blocks.at(BLOCK + 3) == ((0, 1), 3)
    assert blocks.at(BLOCK - 1) == ((0, 0), BLOCK - 1)
    assert blocks.at(5, stream=1) == ((1, 0), 5)
    assert drawn == [(0, 0), (0, 1), (1, 0)]
    blocks.at(2 * BLOCK)
    assert drawn[-1] == (0, 2)
    blocks.at(2 * BLOCK - 1)  # one sample back: the block before is still there
    assert drawn[-1] == (0, 2)
