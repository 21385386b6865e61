"""The former home of `capability`, for modules written before December 2026; it goes with release 0.2.

Once loaded, this module stands where the package has its function of the same name. So it can be called, too.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability

__all__ = ["Capability", "capability"]


class _Callable(ModuleType):
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return capability(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable
