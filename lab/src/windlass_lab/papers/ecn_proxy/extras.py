"""The experiments beyond the paper's tables, by their ids."""

from windlass_lab.papers.ecn_proxy.aside_figures import ASIDE
from windlass_lab.papers.ecn_proxy.aside_kernel_figures import ASIDE_KERNEL
from windlass_lab.papers.ecn_proxy.at_bottleneck import AT_BOTTLENECK
from windlass_lab.papers.ecn_proxy.extra import Extra
from windlass_lab.papers.ecn_proxy.mechanisms import MECHANISMS
from windlass_lab.papers.ecn_proxy.sch_red import SCH_RED
from windlass_lab.papers.ecn_proxy.ways import WAYS

EXTRAS: dict[str, Extra] = {
    extra.experiment.id: extra
    for extra in (MECHANISMS, AT_BOTTLENECK, ASIDE, ASIDE_KERNEL, WAYS, SCH_RED)
}
