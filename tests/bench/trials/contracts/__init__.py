"""What the contract notices."""
