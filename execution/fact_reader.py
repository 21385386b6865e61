"""Read what the critic goes by: results, outputs, effects and decisions on record, and what a model said."""

from __future__ import annotations

from collections.abc import Mapping

from planwright.critic.facts import StepFacts
from planwright.critic.gathering import RunRecords, facts_of
from planwright.critic.rubrics import JudgedStep, Rubrics
from planwright.domain.plan import Plan
from planwright.domain.results import RunVerdict, StepResult
from planwright.domain.verified_step import VerifiedStep
from planwright.execution.recorded_result import full_output
from planwright.execution.step_accounts import StepAccount, step_accounts
from planwright.records.stores import Stores
from planwright.settings.settings import Settings
from planwright.state.agent_state import AgentState, plan_of
from planwright.state.invocation import Invocation


class FactReader:
    """Put the facts of a plan's steps together."""

    def __init__(self, stores: Stores, settings: Settings, rubrics: Rubrics) -> None:
        self._stores = stores
        self._limit_s = settings.execution.step_timeout_s
        self._rubrics = rubrics

    async def of(
        self,
        state: AgentState,
        settled: Mapping[str, StepResult],
        verdicts: Mapping[str, RunVerdict],
        invocation: Invocation,
    ) -> list[StepFacts]:
        """Read the facts of all steps; a criterion in words is judged once, and on record since then."""
        checked, route = state["checked"], state["route"]
        done = [entry for entry in checked if settled[entry.uid].status == "completed"]
        outputs = {entry.uid: await full_output(self._stores, settled[entry.uid]) for entry in done}
        known = {score.uid: score.rubric for verdict in verdicts.values() for score in verdict.step_scores}
        open_ = [entry for entry in done if _in_words(entry) and not known.get(entry.uid)]
        answers = {
            account.entry.uid: await self._rubrics.ask(_judged(account, plan_of(state)), route, invocation)
            for account in await step_accounts(open_, settled, self._stores, invocation.run_id)
        }
        rubrics = {entry.uid: known.get(entry.uid) or answers.get(entry.uid) for entry in done}
        work = await self._stores.work.of_run(invocation.run_id)
        plan_id = plan_of(state).plan_id
        records = RunRecords(settled, outputs, rubrics, work, verdicts, plan_id)
        return facts_of(checked, records, self._limit_s)


def _in_words(entry: VerifiedStep) -> bool:
    criterion = entry.step.success_criteria
    return criterion is not None and bool(criterion.rubric)


def _judged(account: StepAccount, plan: Plan) -> JudgedStep:
    result = account.result
    return JudgedStep(account.entry, plan.goal, result.capability, account.params, account.output)
