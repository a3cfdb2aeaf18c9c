"""The two callables through which a method acts: ``grad`` for gradients and ``mix`` for communication.

Both count every call, and the counts are the cost of a run. Shapes: R independent runs (replicas), k nodes hosted by
this process, P parameters. A method owns the tensors that it receives, and must not modify its inputs in place.
"""

from __future__ import annotations

from typing import Protocol

from torch import Tensor


class Grad(Protocol):
    """Gradients of the hosted nodes, the argument ``grad`` of ``Algorithm.start`` and ``Algorithm.step``.

    Example:
        >>> g = grad(s.x, t)  # one mini-batch per node; the same t gives the same mini-batch
    """

    def __call__(self, x: Tensor, s: int, stream: int = 0) -> Tensor:
        """Return a mini-batch gradient of every hosted node.

        Args:
            x: The points, one for each node, (R, k, P).
            s: The sample number, from 0. The same number gives the same mini-batch.
            stream: An independent sequence of mini-batches. Stream 0 is that of the steps.

        Returns:
            ∇f_i(x_i; sample s) for every hosted node i, (R, k, P).
        """

    def full(self, x: Tensor) -> Tensor:
        """Return the gradient of every hosted node on all of its data.

        Args:
            x: The points, one for each node, (R, k, P).

        Returns:
            ∇f_i(x_i) for every hosted node i, (R, k, P).

        Raises:
            UserError: The dataset is a stream without a full gradient.
        """


class Mix(Protocol):
    """Communication with the neighbors, the argument ``mix`` of ``Algorithm.start`` and ``Algorithm.step``.

    One call is one communication round. Tensors have the shape (R, k, P), or (R, k, 1) for single numbers.
    ``Properties.mixes`` declares which of the calls a method uses.

    Example:
        >>> x, u = mix(s.x - self.eta[t] * s.u, s.u)  # two vectors in one round
    """

    def __call__(self, *tensors: Tensor, when: Tensor | None = None) -> tuple[Tensor, ...]:
        """Multiply every tensor by W over the nodes, where rows and columns of W sum to one.

        Args:
            *tensors: The tensors that every node sends.
            when: Replicas that communicate, boolean, (R, 1, 1). The others keep their tensors and pay nothing.

        Returns:
            W times each tensor, in the same order and shape. Always a tuple, so write ``(x,) = mix(x)``.
        """

    def push(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        """Multiply every tensor by a column-stochastic matrix, which preserves sums over the nodes; as ``__call__``."""

    def pull(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        """Multiply every tensor by a row-stochastic matrix, which preserves consensus; as ``__call__``."""

    def push_pull(
        self, push: tuple[Tensor, ...], pull: tuple[Tensor, ...]
    ) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """Push some tensors and pull others in one round.

        Args:
            push: Tensors for the column-stochastic matrix.
            pull: Tensors for the row-stochastic matrix.

        Returns:
            The pushed tensors and the pulled tensors.
        """

    def compressed(self, *tensors: Tensor) -> tuple[tuple[Tensor, Tensor], ...]:
        """Send compressed tensors. The run's compressor is C.

        Args:
            *tensors: The tensors v that every node compresses and sends.

        Returns:
            The pair (C(v), W C(v)) for each tensor v.
        """
