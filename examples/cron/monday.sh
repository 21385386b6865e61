#!/bin/sh
# For cron: send one request, look at how it ended, and say what a person has to do. Nothing is asked here.
#   0 7 * * 1  cd /srv/desk && ./monday.sh >> monday.log 2>&1
set -u
request=${1:-'Create a ticket to review the backups'}

run=$(planwright run "$request" --json --no-input)
code=$?
of_run() { printf '%s' "$run" | python3 -c "import json, sys; run = json.load(sys.stdin); print($1)"; }

case $code in
    0)              echo "done: $(of_run 'run["answer"]')" ;;
    3)              gate=$(of_run '[gate["gate_id"] for gate in run["gates"] if gate["status"] == "open"][0]')
                    echo "waits: planwright show $(of_run 'run["thread_id"]'), then planwright approve $gate" ;;
    2)              echo "command, settings or store: see the message above, or planwright doctor" ;;
    74)             echo "what it said could not be written; how it ended: planwright show last" ;;
    1 | 5 | 7)      echo "failed: planwright show $(of_run 'run["thread_id"]')" ;;
    4 | 8)          echo "rejected, expired or cancelled: nothing was left to do" ;;
    6 | 124)        echo "over a limit: raise it in [budgets.run], then run it again" ;;
    130 | 137 | 143) echo "interrupted: planwright resume last" ;;
    *)              echo "ended with $code" ;;
esac
exit "$code"
