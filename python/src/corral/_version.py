"""The version of the package, and of the npm package that it speaks to."""

__version__ = "0.2.0"
