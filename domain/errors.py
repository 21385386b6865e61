"""What can go wrong, sorted by what the caller does next.

PlanwrightError
├── SetupError              mend the configuration or the call, then try again
├── PlanInvalid             the text is no plan: the planner is asked again
├── ModelError
│   ├── FeedbackUnheard     no model heard what a person said: it is on record, resume the run later
│   ├── ModelUnavailable    transient: try again, then the next provider
│   │   └── ProviderResting     it failed too often: the next provider, or later
│   ├── ModelRejected       this provider will never accept the call
│   │   ├── KeyRefused          the next key, then the next provider
│   │   └── ContextOverflow     the conversation is too long: shorten it once
│   ├── ModelInterrupted    it broke off after its first words: they are the reader's already
│   ├── ModelOverdue        the time for all tries is over: do without, or end with an answer
│   ├── ModelCancelled      the run was cancelled before the call was made
│   └── ModelOutputInvalid  ask the model again with the exact error
├── CapabilityError
│   ├── CapabilityUnavailable  transient: nothing happened, or the same key is safe to send again
│   │   └── Unanswered             it may have arrived: the same key is safe to send again
│   ├── CapabilityRejected     the tool failed, and the same call will never work: plan something else
│   │   ├── BrokeOff               it failed by an error of its own, maybe after it was done
│   │   ├── references.NothingFound  a search found nothing: leave out what needs the first of it
│   │   ├── OverLimit              reading it would take too much time, memory or depth
│   │   └── CapabilityForbidden    final, and no way around it: policy, allow-list, jail or gate
│   │       ├── CallRefused            a person said no to this call: it is not asked about again
│   │       └── CapabilityChanged      what was shown is not what it is now: verify, and ask, again
│   ├── CallAsks               ask a person, then call again with the answer
│   └── EffectInDoubt          final: nobody knows whether the effect happened
│       └── StillUnderWay          it may happen yet: not even a lookup can tell
├── LimitExceeded
│   └── BudgetExceeded      ask for more of what is spent, or put the run down until there is more
│       └── ProviderBudgetExceeded  bench this provider; the next one may serve
├── GateError               the answer was refused, and nothing has changed
├── RunStopped              this invocation ends, and nothing of the run is settled by that
│   ├── LeaseLost           another process works on the run: leave it alone
│   └── StoreFailed         the store cannot be written or read: mend that, then resume the run
│       └── StoreWentBack       it lacks effects that were begun: look at them, then say go
├── RunError                the thread or run cannot take this call now
│   ├── PartsElsewhere      what it needs is in another process: resume it there
│   ├── VersionMismatch     what it began under is not what is here: migrate it, or cancel it
│   ├── QueueFull           as many runs are queued as may be: try again later
│   ├── RunHeld             another process works on it: leave it alone, or take it over
│   └── PastCheckpoint      nothing goes on from an old checkpoint: begin a fork there
└── LedgerConflict          one key, two different calls: a bug or a tampered store
"""

from __future__ import annotations

from planwright.domain.shortage import Shortage

INTERRUPTED = 130  # exit code after Ctrl-C: 128 and the number of SIGINT, as shells have it


class PlanwrightError(RuntimeError):
    """A refusal: its cause and next step; a RuntimeError, as LangGraph's server hides the text of others."""

    exit_code = 1

    def __init__(self, cause: str, next_step: str = "") -> None:
        super().__init__(f"{cause}\n{next_step}" if next_step else cause)
        self.cause = cause
        self.next_step = next_step


class SetupError(PlanwrightError):
    """The configuration, the installation or the call itself is wrong."""

    exit_code = 2


class PlanInvalid(PlanwrightError):
    """The planner's text does not follow the plan schema."""


class ModelError(PlanwrightError):
    """A model call failed."""

    worked = False
    """Whether its provider was at work on a reply, or may have been; set where the call fails."""
    used: tuple[int, int] | None = None
    """Tokens that were sent and returned, as the provider counts them; None where it did not say."""


class FeedbackUnheard(ModelError):
    """No model made a plan of what a person said; the run has not ended, and hears it when it is resumed."""


class ModelUnavailable(ModelError):
    """The provider is overloaded, unreachable or too slow; `retry_after` is what it asked for, in seconds."""

    is_away = True
    """Whether a run waits for it; else it fails, as the same call would fail again."""

    def __init__(self, cause: str, next_step: str = "", retry_after: float = 0) -> None:
        super().__init__(cause, next_step)
        self.retry_after = retry_after


class ProviderResting(ModelUnavailable):
    """The provider has failed so often that it is left alone for a while; nothing was sent."""


class ModelRejected(ModelError):
    """The provider refused the call for good (bad request, unknown model)."""


class KeyRefused(ModelRejected):
    """The provider does not take this key, or the account behind it has nothing left."""


class ContextOverflow(ModelRejected):
    """The conversation is longer than the model can read."""


class ModelInterrupted(ModelError):
    """A reply is only a part, `partial`: it broke off after its first words, or at a provider's limit."""

    worked = True

    def __init__(self, cause: str, next_step: str = "", partial: str = "") -> None:
        super().__init__(cause, next_step)
        self.partial = partial


class ModelOverdue(ModelError):
    """No whole reply was there when it had to be, whoever was asked."""


class ModelCancelled(ModelError):
    """The run was cancelled while a call waited for its turn; nothing was sent."""


class ModelOutputInvalid(ModelError):
    """The reply does not have the shape that was asked for."""

    worked = True


class ReplyCut(ModelOutputInvalid):
    """The reply was cut off at the limit of its tokens."""


class CapabilityError(PlanwrightError):
    """A capability call failed."""

    code = "failed"


class CapabilityUnavailable(CapabilityError):
    """The receiver is unreachable or overloaded; the same call may work later."""

    code = "unavailable"


class Unanswered(CapabilityUnavailable):
    """Nobody heard how it ended; the same call may be made again, and does no harm."""


class CapabilityRejected(CapabilityError):
    """The arguments or the receiver refuse this call for good; another call, or another plan, may work."""

    code = "tool_failed"


class BrokeOff(CapabilityRejected):
    """Nobody can tell whether it was done: only the same call under the same key may be made again."""


class OverLimit(CapabilityRejected):
    """What somebody wrote takes more time, memory or depth to read than anything from outside may."""


class CapabilityForbidden(CapabilityRejected):
    """A rule or a person stands against this call; nothing like it is tried instead."""

    code = "forbidden"


class CallRefused(CapabilityForbidden):
    """A person said no to this very call in this run, or nobody decided over it in time."""

    code = "rejected"


class CallCancelled(CapabilityForbidden):
    """The run was cancelled before this call was sent."""

    code = "cancelled"


class CapabilityChanged(CapabilityForbidden):
    """What would be called, or the policy, is not what was verified and shown: it is asked for again."""

    code = "changed"


class EffectInDoubt(CapabilityError):
    """The process died, or the time ran out, between sending an effect and hearing of it.

    `if_not` is what went wrong if it turns out that nothing has happened.
    """

    code = "in_doubt"

    def __init__(
        self, cause: str, next_step: str = "", if_not: type[CapabilityError] = CapabilityUnavailable
    ) -> None:
        super().__init__(cause, next_step)
        self.if_not = if_not


class StillUnderWay(EffectInDoubt):
    """The call is late and still at work, so a lookup that finds nothing proves nothing."""


class LimitExceeded(PlanwrightError):
    """A limit the user has set is reached; `limit` names the setting."""

    def __init__(self, limit: str, cause: str, next_step: str = "") -> None:
        super().__init__(cause, next_step)
        self.limit = limit


class BudgetExceeded(LimitExceeded):
    """The next call would cost more than is left; without `shortage` the run cannot be given more of it."""

    exit_code = 6

    def __init__(self, limit: str, cause: str, next_step: str = "", shortage: Shortage | None = None) -> None:
        super().__init__(limit, cause, next_step)
        self.shortage = shortage


class ProviderBudgetExceeded(BudgetExceeded):
    """One provider may not be asked: its limit is reached, or nobody knows what it would charge."""

    def __init__(self, provider: str, limit: str, cause: str, next_step: str = "") -> None:
        super().__init__(limit, cause, next_step)
        self.provider = provider


class GateError(PlanwrightError):
    """An answer to a gate was refused: unknown, stale, expired, twice or malformed."""

    exit_code = 2


class RunError(PlanwrightError):
    """The thread or run is unknown, busy, or waiting for something else."""

    exit_code = 2


class PartsElsewhere(RunError):
    """The run waits for a process that has its tools or its model; a decision that was taken is on record."""

    exit_code = 3


class VersionMismatch(RunError):
    """What a run began under is not here; `code`: `pack_version_mismatch` or `snapshot_version_mismatch`."""

    def __init__(self, cause: str, next_step: str, code: str) -> None:
        super().__init__(cause, next_step)
        self.code = code


class QueueFull(RunError):
    """The queue takes no more runs for now; nothing was written down."""


class RunHeld(RunError):
    """Another process works on the run, or nobody can tell whether it does."""


class PastCheckpoint(RunError, ValueError):
    """The checkpoint is not its thread's newest; a ValueError, as LangGraph's server answers 400 to one."""


class RunStopped(PlanwrightError):
    """This process cannot go on with the run. No node, step or capability turns that into a result."""


class LeaseLost(RunStopped):
    """The run is another process's by now, and nothing was written."""


class StoreFailed(RunStopped):
    """The disk or the database refuses to work. What was sent before is on record as begun."""

    exit_code = 2


class StoreWentBack(StoreFailed):
    """The store lacks effects that were begun in it: nothing is written until a person has said go."""


class LedgerConflict(PlanwrightError):
    """A recorded effect and a new call share a key and differ in their arguments."""
