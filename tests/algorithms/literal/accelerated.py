"""Several rounds of accelerated gossip a step."""

from tests.algorithms.literal.common import fast_gossip, mean_gradient, root, units


def mg_dsgd(X, W, G, kind, T, o):
    n, out, R = len(X), [X], o.get("rounds", 4)
    FG = fast_gossip(W, R)
    for t in range(T):
        g = mean_gradient(G, X, range(t * R, (t + 1) * R))
        X = FG(X - o["eta"] * root(kind, n, t, T) * g)
        out.append(X)
    return out


def detag(X, W, G, kind, T, o):
    """The R gradients of a step are taken at X while X and Y are talked about: Y hears of them a step late."""
    n, out, R = len(X), [X], o.get("rounds", 4)
    FG = fast_gossip(W, R)
    Y = g_old = G(X, 0, 1)
    for t in range(T):
        g = mean_gradient(G, X, range(t * R, (t + 1) * R))
        Y_mixed = FG(Y)
        X = FG(X) - o["eta"] * root(kind, n, t, T) * Y_mixed
        Y = Y_mixed + g - g_old
        g_old = g
        out.append(X)
    return out


def dnsgd(X, W, G, kind, T, o):
    n, out, R, B = len(X), [X], o.get("rounds", 4), o.get("batches", 1)
    FG = fast_gossip(W, R)
    g = mean_gradient(G, X, range(B))
    Y = FG(g)
    for t in range(T):
        X = FG(X - o["eta"] * root(kind, n, t, T) * units(Y))
        g_new = mean_gradient(G, X, range(B * (t + 1), B * (t + 2)))
        Y = FG(Y + g_new - g)
        g = g_new
        out.append(X)
    return out
