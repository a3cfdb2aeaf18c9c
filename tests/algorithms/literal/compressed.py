"""Gossip of compressed differences. C(V, i, r) compresses message i of round r; without ``o["C"]`` it is the identity.

H and Q are one matrix each: what the neighbors know of a node is what the node itself counts with.
"""

import numpy as np
import torch

from bench.base.randomness import generator
from tests.algorithms.literal.common import first_estimate, root


def identity(V, i, r):
    return V


def sent_by(compressor, seed):
    """C as a run has it: row by row, with the draws of the seed, the node's number, the message and the round."""

    def C(V, i, r):
        def draws(node):
            return generator(seed, node, f"compressor {i}", r)

        payload = compressor.pack(torch.as_tensor(V), draws)
        return compressor.unpack(payload, V.shape[1], torch.float64, draws).numpy()

    return C


def choco(X, W, G, kind, T, o):
    n, out, H, gamma, C = len(X), [X], np.zeros_like(X), o["gamma"], o.get("C", identity)
    for t in range(T):
        half = X - o["eta"] * root(kind, n, t, T) * G(X, t)
        if o.get("order") == "overlapped":
            X = half + gamma * (W @ H - H)
            H = H + C(X - H, 0, t)
        else:
            H = H + C(half - H, 0, t)
            X = half + gamma * (W @ H - H)
        out.append(X)
    return out


def beer(X, W, G, kind, T, o):
    n, out, gamma, C = len(X), [X], o["gamma"], o.get("C", identity)
    H, Q = np.zeros_like(X), np.zeros_like(X)
    V = g = G(X, 0)
    for t in range(T):
        X = X + gamma * (W @ H - H) - o["eta"] * root(kind, n, t, T) * V
        H = H + C(X - H, 0, t)
        g_new = G(X, t + 1)
        V = V + gamma * (W @ Q - Q) + g_new - g
        Q = Q + C(V - Q, 1, t)
        g = g_new
        out.append(X)
    return out


def motef(X, W, G, kind, T, o):
    """BEER of a moving average M of the gradients; λ of the paper is the weight of the newest."""
    n, out, gamma, weight, C = len(X), [X], o["gamma"], o["weight"], o.get("C", identity)
    H, Q = np.zeros_like(X), np.zeros_like(X)
    V = M = G(X, 0)
    for t in range(T):
        X = X + gamma * (W @ H - H) - o["eta"] * root(kind, n, t, T) * V
        H = H + C(X - H, 0, t)
        M_new = (1 - weight) * M + weight * G(X, t + 1)
        V = V + gamma * (W @ Q - Q) + M_new - M
        Q = Q + C(V - Q, 1, t)
        M = M_new
        out.append(X)
    return out


def docom(X, W, G, kind, T, o):
    """BEER of a recursive estimator V; round 0 sends X itself."""
    n, out, gamma, C = len(X), [X], o["gamma"], o.get("C", identity)
    H, Q = X, np.zeros_like(X)
    V = Y = first_estimate(G, X, o.get("start_batches", 1))
    for t in range(T):
        X_new = X + gamma * (W @ H - H) - o["eta"] * root(kind, n, t, T) * Y
        H = H + C(X_new - H, 0, t + 1)
        V_new = G(X_new, t + 1) + (1 - o["beta"]) * (V - G(X, t + 1))
        Y = Y + gamma * (W @ Q - Q) + V_new - V
        Q = Q + C(Y - Q, 1, t + 1)
        X, V = X_new, V_new
        out.append(X)
    return out
