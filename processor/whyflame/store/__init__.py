"""The only speaker of DuckDB: schema, appends, settled generations, exact sums."""
