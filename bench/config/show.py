"""Hydra's own views of a configuration: --cfg, --info, --hydra-help and --shell-completion."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import hydra
from omegaconf import DictConfig

from bench.base.errors import UserError
from bench.config.compose import HYDRA_ERRORS, prepared, sentence
from bench.config.names import CONF
from bench.config.source import CONFIG, Source, used


@hydra.main(version_base="1.3", config_path=str(CONF), config_name=CONFIG)
def _main(config: DictConfig) -> None:
    """Hydra calls this only where no view is requested."""


def show(words: Sequence[str], flags: Sequence[str], source: Source) -> None:
    """Print what ``flags`` request; Hydra accepts no settings after its flags."""
    source, words = prepared(words, source)
    sys.argv[1:] = [*words, *flags, f"--config-path={source.main}", f"--config-name={source.name}"]
    os.environ["HYDRA_FULL_ERROR"] = "1"  # errors reach this function instead of being printed with a traceback
    try:
        with used(source):
            _main()
    except HYDRA_ERRORS as error:
        raise UserError(sentence(error, words, source)) from error
    except ValueError as error:  # flags that do not go together
        raise UserError(f"{' '.join([*flags, *words])}: {error}.") from error
