"""Harm: how much worse a flow does beside another one than alone.

R. Ware, M. Mukerjee, S. Seshan, J. Sherry, "Beyond Jain's Fairness Index: Setting the Bar for the
Deployment of Congestion Control Algorithms", HotNets 2019. Jain's index is the same whether a new
controller takes too much or too little. Harm is the part of its solo performance that a flow of
today loses, for each measure of performance by itself. With x the performance alone on the path and
y that beside the other flow:

- of a measure of which more is better, such as throughput: (x - y) / x;
- of one of which less is better, such as delay: (y - x) / y.

Both are 0 where nothing is lost, and approach 1 where all is. Two flows that share a link equally
do each other a harm of one half in throughput. A flow that does better than alone has a harm below
zero here, which the paper counts as none.

A controller may be deployed beside those of today if it harms them no more than they harm each
other (the paper's threshold). That difference is `excess`.
"""


def of_more(alone: float, beside: float) -> float | None:
    """The harm in a measure of which more is better; None if there is none of it alone."""
    return (alone - beside) / alone if alone else None


def of_less(alone: float, beside: float) -> float | None:
    """The harm in a measure of which less is better; None if there is none of it beside another."""
    return (beside - alone) / beside if beside else None


def excess(by_other: float, by_same: float) -> float:
    """The harm by another controller beyond that by one's own: at most zero within the paper's
    threshold for deployment.
    """
    return by_other - by_same
