"""The smallest model of a text: of each character, how likely every other one is to come next."""

from torch import Tensor, nn


class Bigrams(nn.Module):
    """A row of outputs for every character."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.table = nn.Embedding(classes, classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.table(x)
