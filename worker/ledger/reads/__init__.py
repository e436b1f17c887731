"""What people and pages read from the ledger: leaderboards, players, histories, matches with all that explains them.

Every function takes a connection whose jsonb comes decoded (`ledger.open_pool` gives such), and reads by key: a page at
most, never a whole table.
"""

from worker.ledger.reads.matches import MatchRecord, SideRecord, match_record
from worker.ledger.reads.players import (
    TOP,
    Cursor,
    Page,
    Standing,
    Step,
    history,
    leaderboard,
    outcomes,
    policies,
    pools,
    standings,
)
from worker.ledger.reads.registered import RegisteredPolicy, policy_of, registered_policies
from worker.ledger.reads.signals import LATEST, Flag, RatedGame, flags, latest_games, played, published
from worker.ledger.reads.verdicts import ResetChange, SanctionRecord, SanctionState, sanctions

__all__ = [
    "LATEST",
    "TOP",
    "Cursor",
    "Flag",
    "MatchRecord",
    "Page",
    "RatedGame",
    "RegisteredPolicy",
    "ResetChange",
    "SanctionRecord",
    "SanctionState",
    "SideRecord",
    "Standing",
    "Step",
    "flags",
    "history",
    "latest_games",
    "leaderboard",
    "match_record",
    "outcomes",
    "played",
    "policies",
    "policy_of",
    "pools",
    "published",
    "registered_policies",
    "sanctions",
    "standings",
]
