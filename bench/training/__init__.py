"""The one loop, and what it asks of the hosting."""
