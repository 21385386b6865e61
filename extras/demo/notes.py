"""The demo notes, by file name."""

from __future__ import annotations

ROADMAP = """\
# Product roadmap

Owner: Sam de Vries. Last change: 2026-11-10, after the roadmap meeting.
A date here is a promise to customers. No date means that we want it, not that we do it.

## Done in 2026

- Q1: second sensor generation (IP67 housing, five-year battery)
- Q2: hall map in the app
- Q3: firmware 2.4, with the fix for the nightly gateway outage
- Q4: firmware 2.5, frost alerts that can be muted per hall

## Now: Q4 2026

### Firmware 2.5 roll-out

Ten percent of the gateways per day, started on 9 November. We stop if more than one percent
of them need a manual restart. Owner: Jonas.

### New onboarding flow

The app finds the gateway first and asks for an account afterwards. Goal: first reading in
under five minutes. The 31 gateways older than 2.2 keep the old flow. Owner: Mei.

## Next: Q1 2027

### Alerts by text message

Night shifts often have no smartphone on the floor. Green Acres will test it from January.

- frost and power-cut alerts only
- at most three messages per hall and night
- open question: do we pay for the messages or pass the cost on?

### Spare-part stock

Keep ten percent of every delivery as spare sensors, so that a broken one is replaced within
two working days.

## Later: Q2 2027

### Public API

Read only at first: readings, halls and alerts. Writing follows when two customers have used
the read side for a month.

## Not planned

- Offline mode for the app: dropped on 2026-11-10, too little demand for the effort.
- Our own cloud hardware.

## How we decide

1. Does it save a grower a walk through the hall?
2. Can support explain it in two sentences?
3. Can we take it back?
"""

MEETING = """\
# Roadmap meeting, 2026-11-10

Present: Sam, Jonas, Mei, Luis. Room Linden, 10:00 - 11:00.

## Decisions

- Text message alerts move from "later" to Q1 2027. Green Acres tests them.
- The public API stays in Q2 2027 and is read only at first.
- Offline mode for the app is dropped for now.

## Discussion

Jonas: 2.5 runs on all test gateways, no restarts in five days. Luis: support has two open
tickets that 2.5 should close, and wants to see both confirmed by the customer.

Who pays for the text messages is open. Sam asks Priya for the cost of 1,000 messages.

## To do

- [ ] Sam: cost of text messages, until 2026-11-24
- [ ] Mei: onboarding test with three growers, until 2026-11-30
- [ ] Luis: list of customers with gateways older than 2.2
- [x] Jonas: start the 2.5 roll-out
"""

ONBOARDING = """\
# Onboarding for new colleagues

## First day

1. Fetch your badge at the reception, then meet your buddy.
2. Set up the mail client and the calendar. Northwind IT helps: it@northwind.example.
3. Read the roadmap. You need not remember it.

## First week

- Sit with support for half a day and listen.
- Unbox a gateway and two sensors, and bring them online without help. Write down where you
  got stuck: that list is worth more than a survey.
- Visit the test greenhouse with Jonas on Thursday.

## Who does what

| Person | Topic                        |
|--------|------------------------------|
| Sam    | product, purchasing          |
| Priya  | finance, payment runs        |
| Jonas  | firmware, gateways           |
| Mei    | app, design                  |
| Luis   | support, spare parts         |
| Hannah | office, people               |
"""

RETRO = """\
# Retro: firmware 2.4

2026-09-18, 45 minutes, everyone who worked on the release.

## What went well

- The freeze held. Nothing was squeezed in on the last day.
- The nightly outage at Green Acres was found within a day of the report.

## What went badly

- The battery estimate was wrong below 5 degrees for months, and nobody looked.
- Gateway reconnect slipped to 2.5, and customers heard it from us too late.

## What we change

- One cold-chamber run before every freeze (Jonas).
- A slipped item is in the release notes on the same day (Sam).
"""

IDEAS = """\
Ideas, unsorted

- QR code on the gateway that opens the right help page
- postcard with every delivery: "stuck? write to a human"
- show the coldest spot of the night in the morning mail
- lend a test kit to the horticulture school in Wageningen
- sticker set for the hall map
- ask Hartmann whether we may write about their large greenhouse
"""

NOTES = {
    "roadmap.md": ROADMAP,
    "meeting-2026-11-10.md": MEETING,
    "onboarding.md": ONBOARDING,
    "retro.md": RETRO,
    "ideas.txt": IDEAS,
}
