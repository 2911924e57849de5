"""Tree rules over whole runs: sessions, what counts once, lanes, turns, steps, self time, cost."""
