"""DuckDB: the rows, the prices, the SQL models, the reports and the HTTP API.

Takes Parquet blocks from the inbox, each exactly once, and owns the one database file.
Hands on named reports, the same ones to the dashboard, the alerts, the planner and the command line.
"""
