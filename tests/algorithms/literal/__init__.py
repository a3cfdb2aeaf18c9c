"""The rules of the papers, written out node by node in NumPy, as plainly as possible."""

from tests.algorithms.literal.accelerated import detag, dnsgd, mg_dsgd
from tests.algorithms.literal.adaptive import (
    accum_adam,
    d_dog,
    d_dog_reported,
    dadagrad_norm,
    dadam,
    dadam_written,
    damsgrad,
    gt_adam,
)
from tests.algorithms.literal.averaged import dasa, dasagt, demuon, dnasa, gt_nsgdm
from tests.algorithms.literal.clipped import dsgd_cclip, dsgd_clip, dsgd_n, sclip_ef
from tests.algorithms.literal.common import LAYOUT, PARTS, Rule
from tests.algorithms.literal.compressed import beer, choco, docom, motef
from tests.algorithms.literal.directed import push_diging, push_pull, sgp
from tests.algorithms.literal.gossip import d2, decentlam, dsgd, dsgdm, ed, edm, fspda, qg_dsgdm
from tests.algorithms.literal.local import kgt, led, proxskip
from tests.algorithms.literal.options import OPTIONS, VARIANTS
from tests.algorithms.literal.pooled import adagrad_norm, adam, dog, dog_reported, nsgdm, prodigy, storm
from tests.algorithms.literal.recursive import adamdos, deepstorm, gt_hsgd
from tests.algorithms.literal.tracking import dsgt, dsgt_hb, dsmt, gt, momentum_tracking
from tests.algorithms.literal.untuned import autostep_gt, dat_sgd, dda, dda_reported, deco, dgm_bb

__all__ = ["DIRECTED", "LAYOUT", "OPTIONS", "PARTS", "POOLED", "REPORTED", "RULES", "VARIANTS", "Rule"]

DIRECTED: dict[str, Rule] = {"sgp": sgp, "push_diging": push_diging, "push_pull": push_pull}
"""These also run on networks that point one way."""
POOLED: dict[str, Rule] = {
    "nsgdm": nsgdm,
    "adagrad_norm": adagrad_norm,
    "adam": adam,
    "dog": dog,
    "prodigy": prodigy,
    "storm": storm,
}
"""These ask for the exact average and one start."""
REPORTED: dict[str, Rule] = {"dog": dog_reported, "d_dog": d_dog_reported, "dda": dda_reported}
"""What is measured in the place of x."""
RULES: dict[str, Rule] = {
    "dsgd": dsgd,
    "dsgd_n": dsgd_n,
    "dsgd_clip": dsgd_clip,
    "dsgd_cclip": dsgd_cclip,
    "sclip_ef": sclip_ef,
    "dsgdm": dsgdm,
    "decentlam": decentlam,
    "qg_dsgdm": qg_dsgdm,
    "d2": d2,
    "ed": ed,
    "edm": edm,
    "fspda": fspda,
    "dsgt": dsgt,
    "gt": gt,
    "autostep_gt": autostep_gt,
    "dgm_bb": dgm_bb,
    "dat_sgd": dat_sgd,
    "dda": dda,
    "deco": deco,
    "dsgt_hb": dsgt_hb,
    "momentum_tracking": momentum_tracking,
    "dsmt": dsmt,
    "dasa": dasa,
    "dasagt": dasagt,
    "dnasa": dnasa,
    "gt_nsgdm": gt_nsgdm,
    "demuon": demuon,
    "gt_hsgd": gt_hsgd,
    "deepstorm": deepstorm,
    "adamdos": adamdos,
    "kgt": kgt,
    "led": led,
    "proxskip": proxskip,
    "mg_dsgd": mg_dsgd,
    "detag": detag,
    "dnsgd": dnsgd,
    "dadam": dadam,
    "dadam_written": dadam_written,
    "accum_adam": accum_adam,
    "damsgrad": damsgrad,
    "dadagrad_norm": dadagrad_norm,
    "gt_adam": gt_adam,
    "d_dog": d_dog,
    "choco": choco,
    "beer": beer,
    "motef": motef,
    "docom": docom,
    **DIRECTED,
    **POOLED,
}
