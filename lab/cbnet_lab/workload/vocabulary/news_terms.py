"""News terms: the default list of strings for the workload of [2006 §4.2].

The paper draws strings from the 200 most frequent meaningful terms of a corpus of news reports, which
we cannot redistribute. This is a list of our own of 200 words from business and politics, the most
frequent first, weighted by Zipf. As in a real list, some words are a prefix, suffix or substring of
another, which exercises those operators.
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
