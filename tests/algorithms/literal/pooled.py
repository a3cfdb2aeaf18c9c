"""References that know the exact average: all nodes hold one x, and ḡ is the mean of their n gradients."""

import math

import numpy as np

from tests.algorithms.literal.averaged import stepsizes_of_dnasa
from tests.algorithms.literal.common import first_estimate, norm, root, unit


def of_one(move):
    """A rule of every node from one of a single x: ``move(x, g, kind, T, o)`` gives x⁰ … x^T."""

    def rule(X, W, G, kind, T, o):
        n = len(X)
        assert np.allclose(W, 1 / n)
        assert np.ptp(X, axis=0).max() == 0

        def everywhere(x):
            return np.stack([x] * n)

        def g(x, s, b0=None):
            """ḡ(x) on sample s, or, with b₀, the mean of b₀ of them that a start takes."""
            return (G(everywhere(x), s) if b0 is None else first_estimate(G, everywhere(x), b0)).mean(axis=0)

        return [everywhere(x) for x in move(X[0], g, kind, n, T, o)]

    return rule


@of_one
def nsgdm(x, g, kind, n, T, o):
    out, m = [x], np.zeros_like(x)
    for t in range(T):
        eta, alpha = stepsizes_of_dnasa(kind, n, t, T, o)
        m_new = (1 - alpha) * m + alpha * g(x, t)
        x = x - eta * unit(m if o.get("order") == "delayed" else m_new)
        m = m_new
        out.append(x)
    return out


@of_one
def adagrad_norm(x, g, kind, n, T, o):
    out, s = [x], 0.0
    for t in range(T):
        gradient = g(x, t)
        s = s + norm(gradient) ** 2
        x = x - o["eta"] * gradient / math.sqrt(s + o["b0"] ** 2)
        out.append(x)
    return out


@of_one
def adam(x, g, kind, n, T, o):
    out, m, v, beta1, beta2 = [x], np.zeros_like(x), np.zeros_like(x), o["beta1"], o["beta2"]
    for t in range(T):
        gradient = g(x, t)
        m, v = beta1 * m + (1 - beta1) * gradient, beta2 * v + (1 - beta2) * gradient**2
        m_hat, v_hat = m / (1 - beta1 ** (t + 1)), v / (1 - beta2 ** (t + 1))
        x = x - o["eta"] * root(kind, n, t, T) * m_hat / (np.sqrt(v_hat) + o["epsilon"])
        out.append(x)
    return out


def dog_steps(x, g, T, o):
    """x and its polynomial average x̂, which is what is reported."""
    first, squares = x, 1e-8
    radius = o["epsilon"] * (1 + norm(x))
    out, average, averages = [x], x, [x]
    for t in range(T):
        gradient = g(x, t)
        radius = max(radius, norm(x - first))
        squares = squares + norm(gradient) ** 2
        x = x - radius / math.sqrt(squares) * gradient
        weight = 9 / (8 + (t + 1))
        average = (1 - weight) * average + weight * x
        out.append(x)
        averages.append(average)
    return out, averages


@of_one
def dog(x, g, kind, n, T, o):
    return dog_steps(x, g, T, o)[0]


@of_one
def dog_reported(x, g, kind, n, T, o):
    return dog_steps(x, g, T, o)[1]


@of_one
def prodigy(x, g, kind, n, T, o):
    beta1, beta2, d0 = o["beta1"], o["beta2"], o["d0"]
    beta3, d, numerator, first, out = math.sqrt(beta2), d0, 0.0, x, [x]
    m, v, s = (np.zeros_like(x) for _ in range(3))
    for t in range(T):
        gradient, dlr = g(x, t), d * o["eta"]
        numerator = beta3 * numerator + (d / d0) * dlr * (gradient @ (first - x))
        m = beta1 * m + (1 - beta1) * d * gradient
        v = beta2 * v + (1 - beta2) * d**2 * gradient**2
        s = beta3 * s + (d / d0) * dlr * gradient
        d = max(d, numerator / np.abs(s).sum())
        x = x - dlr * m / (np.sqrt(v) + d * o["epsilon"])
        out.append(x)
    return out


@of_one
def storm(x, g, kind, n, T, o):
    out, V = [x], g(x, 0, o.get("start_batches", 1))
    for t in range(T):
        x_new = x - o["eta"] * root(kind, n, t, T) * V
        V = g(x_new, t + 1) + (1 - o["beta"]) * (V - g(x, t + 1))
        x = x_new
        out.append(x)
    return out
