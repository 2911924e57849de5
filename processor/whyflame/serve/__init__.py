"""HTTP on :4319: API, metrics, health, page."""
