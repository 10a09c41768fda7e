from support.networks import ELEVEN, Named

from cbnet.language import Message
from cbnet.routing.multitree.multitree import MultiTree
from cbnet_lab.cli.lab.simulate import sweep_pulls

FIGURE_2 = Named(ELEVEN, receivers=[])
ID = FIGURE_2.id
OFFERS = {ID("j"): "#video", ID("h"): "#video"}


def test_totals_are_sums_over_the_requests():
    scheme = MultiTree(FIGURE_2.network, [ID("b")], offers=OFFERS)
    video, nobody = Message(tags=["video"]), Message(tags=["song"])
    totals = sweep_pulls(scheme, [(ID("i"), video), (ID("j"), video), (ID("i"), nobody)])
    assert [totals[name] for name in ("requests", "answered", "unmatched", "missed")] == [3, 2, 1, 0]
    # On the tree of b, i is 4 hops from j (i e b f j) and from h (i e b c h); in the graph j is its neighbour.
    assert (totals["request_packets"], totals["reply_packets"], totals["extra_length"]) == (4, 4, 3.0 / 2)
    assert totals["holders"] in (1, 2)


def test_busiest_holder_has_a_share_of_the_answers():
    scheme = MultiTree(FIGURE_2.network, [ID("b")], offers=OFFERS, choice="least")
    requests = [(ID("b"), Message(tags=["video"])) for _ in range(4)]  # both holders are two hops away
    totals = sweep_pulls(scheme, requests)
    assert (totals["holders"], totals["busiest"]) == (2, 0.5)
