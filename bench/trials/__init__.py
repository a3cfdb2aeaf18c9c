"""What the parts are put to: whether they keep their promises, and how fast they are."""
