"""The former home of `capability`, for modules written before December 2026; it goes with release 0.2.

Once loaded, this module stands where the package has its function of the same name. So it can be called, too.
"""

from __future__ import annotations

import sys
from types import ModuleType

from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability

__all__ = ["Capability", "capability"]


class _Callable(ModuleType):
    __call__ = staticmethod(capability)


sys.modules[__name__].__class__ = _Callable
