"""News terms: which words do users look for in the news? A list of our own, for when none is given.

[2006 §4.2] draws strings from the 200 commonest meaningful terms of a corpus of news reports, which
is not ours to ship. These are 200 words such as stand in reports on business and politics, the
commonest first, weighted by Zipf. As in the real list, some of them begin, end or contain another:
that is what prefix, suffix and substring constraints meet.
"""

from __future__ import annotations

_WORDS = """
    market government company year president bank million people trade price minister shares country report
    sales state business rate world party oil dollar election stock group police court growth official week
    interest profit deal tax economy plan investor union law budget quarter markets analyst power workers
    vote policy exchange agreement output export season city value industry bill loan fund security meeting
    talks war team crude deficit foreign force debt leader investment central reform strike import leading
    demand barrel chief health member steel game loss secretary border congress credit currency producer
    production airline peace cabinet school gold merger account board trader banking water bond food prices
    ministry futures committee technology spokesman parliament wheat treasury victory airport marketing
    storm capital opposition earnings coast region army stake factory cut inflation coffee director judge
    contract grain finance crisis science cotton tonnes ship share port shipping sugar customer defence
    copper farm farmer mining statement earthquake subsidy regional harvest takeover dividend refugee
    pipeline drug hospital summit treaty revenue senate reporter reserve recession broker manager drought
    tariff software partner nuclear operator research flood railway rating truce boardroom refinery surplus
    province soldier candidate coalition settlement tourism league protest prison corn lawyer mortgage
    consumer rebel banks rates exports states unions
"""
TERMS = tuple(_WORDS.split())
