"""The local stack: real PostgreSQL and real Apache Kafka out of packages, without Docker, Java or Maven.

    with Stack() as stack:
        subprocess.run(command, env=os.environ | stack.environment)

Needs the extra `[local]`. On the command line: `python -m deploy.local run -- COMMAND`.
"""

from deploy.local.errors import StackError
from deploy.local.kafka import Kafka
from deploy.local.postgres import Postgres
from deploy.local.stack import Stack

__all__ = ["Kafka", "Postgres", "Stack", "StackError"]
