"""Voids, sanctions, inactivity, tournaments, notices and housekeeping."""

from worker.ledger.migrate import run_sql_file

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add what the whole rule book needs."""
    run_sql_file("0002_rule_book.sql")


def downgrade() -> None:
    """Go back to finished matches alone; what voids, sanctions and tournaments left is gone after this."""
    run_sql_file("0002_rule_book.down.sql")
