"""Stand-ins for servers that whyflame talks to."""
