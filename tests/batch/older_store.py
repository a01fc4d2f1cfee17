"""Stores as older versions wrote them."""

import sqlite3
from contextlib import closing

from convexfs.batch.store import schema
from convexfs.batch.store.store import RESULTS


def make_older(folder, version):
    """Take out of a store what came after a version of its tables."""
    new = {table for table, first in schema.NEW_TABLES.items() if version < first}
    with closing(sqlite3.connect(folder / RESULTS)) as file:
        for table, column in set(schema._added_after(version)):
            if table not in new:
                file.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        for table in new:
            file.execute(f"DROP TABLE {table}")
        file.execute(f"PRAGMA user_version = {version}")
        file.commit()
