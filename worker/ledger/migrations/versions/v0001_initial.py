"""The ledger as it starts."""

from worker.ledger.migrate import run_sql_file

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create every table, index and view."""
    run_sql_file("0001_initial.sql")


def downgrade() -> None:
    """Drop everything: ratings and ledger are gone after this."""
    run_sql_file("0001_initial.down.sql")
