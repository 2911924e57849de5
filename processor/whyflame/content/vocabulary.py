"""Word tables that features are made of: cues, lead verbs, stop words, given names.

These tables are part of the feature format: a change of their order or meaning needs a new
`whyflame.content.features.VERSION`. What a team may edit (names of intervals) lives in
`whyflame.segment.names`, not here.
"""

from __future__ import annotations

__all__ = [
    "CLAUSE_OPENERS",
    "CUES",
    "CUE_WORDS",
    "GIVEN_NAMES",
    "LEADS",
    "LEAD_WORDS",
    "PRODUCTS",
    "STOP_WORDS",
]

CUE_WORDS: dict[str, str] = {
    "error": "error errors failed fail fails failure failing exception traceback fatal denied "
    "refused unable cannot invalid undefined crash crashed panic abort aborted",
    "missing": "missing unknown nonexistent notfound unavailable unrecognized unsupported",
    "success": "success successful successfully succeeded passed pass works working correct",
    "done": "done complete completed finished finish conclude concluded ready final finally",
    "next": "next then following proceed continue moving move now",
    "first": "first start begin beginning initial initially",
    "verify": "verify verified verification validate confirm check test tests testing ensure",
    "create": "create creating write writing implement implementing add build generate make",
    "fix": "fix fixed fixing repair resolve correct debug issue problem bug",
    "explore": "explore look examine understand see read inspect investigate analyze view",
    "search": "search find locate looking lookup query browse",
    "install": "install installing installed dependency dependencies package packages setup",
    "run": "run running execute executing launch start",
    "plan": "plan planning todo steps step list task tasks ledger strategy approach",
    "contrast": "but however instead although unfortunately alternatively",
    "different": "different another alternative approach other try trying simpler",
    "insight": "perfect great excellent good interesting understand found realized see",
    "wait": "wait waiting sleep still progress running pending background timeout",
    "summary": "summary summarize overview conclusion result results report answer",
    "cleanup": "clean cleanup remove delete kill stop tidy",
    "request": "need want would like please could can help",
    "thanks": "thanks thank appreciate welcome",
    "agree": "yes sure okay fine right agreed correct proceed exactly",
    "refuse": "no not sorry unfortunately cannot decline deny unable",
    "also": "also additionally furthermore another else besides too",
    "bye": "bye goodbye stop anything",
    "question": "what which how why when where who",
    "transfer": "transfer human handoff delegate speaker agent hand",
    "because": "because since so therefore thus",
    "stuck": "stuck loop repeated again retry same still",
    "satisfied": "satisfied unsatisfied request",
    "code": "code script function class file program",
}
"""Cue name -> its words; the position in this table is the bit."""

CUES: tuple[str, ...] = tuple(CUE_WORDS)

LEAD_WORDS: dict[str, str] = {
    "explore": "explore examine look inspect view read see understand investigate analyze analyse "
    "study review open list show display print identify determine learn",
    "search": "search find locate grep lookup browse query seek",
    "create": "create write implement add build generate make develop define design draft compose",
    "edit": "edit update modify change replace rewrite refactor adjust improve rename extend "
    "optimize simplify convert enhance",
    "fix": "fix repair resolve correct debug patch diagnose troubleshoot handle address solve",
    "test": "test verify validate check confirm ensure compare double reproduce evaluate assert",
    "install": "install set setup configure prepare download clone upgrade initialize enable",
    "run": "run execute launch start restart use apply perform call invoke submit",
    "compute": "calculate compute count measure estimate extract parse decode solve convert",
    "plan": "plan organize outline break think consider decide track",
    "try": "try attempt retry approach",
    "wait": "wait monitor continue keep proceed",
    "remove": "remove delete kill stop clean cancel drop",
    "finish": "finish complete finalize summarize conclude report provide deliver answer respond",
    "fetch": "get fetch retrieve load collect gather pull scrape access visit navigate click type "
    "scroll",
    "deploy": "deploy push commit merge publish release upload send",
    "book": "book order pay exchange return refund reserve buy purchase transfer",
}
"""Lead class -> verbs; the position plus one is the code, 0 means none."""

LEADS: tuple[str, ...] = ("", *LEAD_WORDS)

STOP_WORDS = frozenset(
    """a about above after again all also am an and any are aren as at be because been before being
    below between both but by can could couldn did didn do does doesn doing don down during each few
    for from further had has have having he her here hers him his how i if in into is isn it its
    itself just ll let lets me more most my need needs no nor not now of off on once one only or
    other our ours out over own please re s same she should so some such t than that the their them
    then there these they this those through to too under until up ve very want was wasn we were
    what when where which while who whom why will with would you your yours able actually going
    like sure using used first next step start started got get gets
    okay ok yes well good great perfect excellent interesting however since still it's that's i'm
    i'll i've let's don't doesn't can't we'll we'd you'd i'd there's here's what's""".split()
)
"""Function words; they carry no topic."""

CLAUSE_OPENERS: dict[str, int] = {
    "let": 2,
    "lets": 1,
    "let's": 1,
    "i'll": 1,
    "ill": 1,
    "i’ll": 1,
    "let’s": 1,
    "need": 2,
    "will": 1,
    "should": 1,
    "can": 1,
    "please": 1,
    "want": 2,
    "try": 2,
    "going": 2,
    "must": 1,
    "bitte": 1,
}
"""Words that open the clause which says what comes next -> how many tokens on it begins."""

GIVEN_NAMES = frozenset(
    """aarav adam ahmed aiden aisha alejandro alex alexander alexandra alice ali amanda amelia amy ana
    andrea andreas andrew angela anita anna anne anthony antonio arjun arthur ava barbara beatrice
    ben benjamin bernd bob brandon brian carl carla carlos carmen carol caroline catherine charles
    charlotte chen chloe chris christian christine christopher claire clara claudia connor daiki
    daniel daniela david deborah dennis diana diego dieter dmitri donald dorothy edward elena elias
    elizabeth ella ellen emily emma eric ethan eva evelyn fatima felix fernando florian frank
    franziska frieda gabriel george gerhard grace greg hannah hans harper harry heather heinz helen
    helga henry hiroshi ian igor ines ingrid isabella isaac ivan jack jackson jacob jakob james jan
    jane jason javier jean jeff jennifer jens jessica jing joan joe johann john jonas jonathan jorge
    jose joseph joshua juan juergen julia julian juliane justin karen karin karl katharina katherine
    katrin kenji kevin klaus laura lauren lei leon liam linda lisa lucas lucia lucy luis lukas mai
    manfred marco margaret maria marie mario mark markus martin mary mateo matthew matthias max mei
    melissa mia michael michelle miguel mike mila mohamed monika muhammad nadia nancy natalie nathan
    nicholas nina noah nora olga oliver olivia omar pablo patricia patrick paul paula pedro peter
    petra philip pierre priya rachel raj rebecca richard robert rosa ryan sabine samantha samuel
    sandra sara sarah sebastian sergei sharon simon sofia sophia sophie stefan stephanie stephen
    steven susan susanne takeshi tanja teresa thomas tim timothy tobias tom ursula uwe valentina
    victor victoria vincent walter wei werner william wolfgang xiao yan yang yuki yuriko yusuf zhang
    zoe""".split()
)
"""Common given names: never part of a name of an interval."""

PRODUCTS = frozenset(
    """android ansible apache aws azure bash celery chrome debian django docker elasticsearch excel
    express fastapi firefox flask git github gitlab gmail go grafana helm ios java javascript
    jenkins jira jupyter kafka keras kotlin kubernetes linux mac maven mongodb mysql nginx node
    numpy openai oracle outlook pandas php postgres postgresql prometheus pydantic pytest python
    pytorch rails react redis ruby rust salesforce scala slack spark sqlite stripe swift teams
    tensorflow terraform typescript ubuntu vue windows wordpress zendesk""".split()
)
"""Well-known products: a capital does not make them a person."""
