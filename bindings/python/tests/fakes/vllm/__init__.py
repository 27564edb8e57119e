"""A stand-in for the package of this name."""
