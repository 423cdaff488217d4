"""Unique 64-bit IDs from servers of uidring, fetched ahead of use.

    with uidring.Client(["https://ids-1.example.com", "https://ids-2.example.com"], token=token) as ids:
        id = ids.next()
"""

from ._client import Client
from ._errors import Closed, Error, Rejected, Unavailable

__all__ = ["Client", "Closed", "Error", "Rejected", "Unavailable"]
