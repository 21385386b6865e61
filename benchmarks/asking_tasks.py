"""Forty tasks of an ordinary week in the demo's workspace: something is read, and then something is done."""

from __future__ import annotations

FINDS_NOTHING = (
    "Search my emails for the newsletter, summarize it and save the summary to newsletter.md",
    'Get the phone number from notes/onboarding.md and create a ticket titled "Call the landlord"',
)
"""Those for which the workspace has nothing: nobody is asked, nothing is done, and that is said."""
TASKS = (
    "Search my emails for the invoice from Acme, then create a ticket with the amount and send a summary to"
    " the team channel",
    "Find the email from Hartmann and create a ticket for it",
    "Find the email from Initech, extract the due date and remember it",
    "Look for the invoice from Initech in my mail, then remember the amount",
    "Search my mail for the invoice from Globex and save it to globex.txt",
    "Find the email from Lefèvre, summarize it and post the summary to the team channel",
    "Search my emails for the newsletter, summarize it and save the summary to newsletter.md",
    "Find the mail from Noémi Laurent and create a ticket for it",
    "Look up the invoice from Acme in my mail and save the amount to acme.txt",
    "Find the email from Hartmann, summarize it and post the summary to the team channel",
    "Check for mail from Lefèvre, summarize it and keep the summary in memory",
    "Find the email from Initech, summarize it and post the summary to the team channel",
    "Search my emails for the invoice from Globex, then create a ticket with the amount",
    "Search my emails for the offsite, summarize it and save the summary to offsite.md",
    "Find the email from Hartmann, summarize it and save the summary to hartmann.md",
    "Read notes/roadmap.md and save a summary to roadmap-short.md",
    "Read notes/roadmap.md and post a summary to the team channel",
    "Summarize notes/onboarding.md and post the summary to the team channel",
    "Read notes/retro.md, summarize it and save the summary to retro-short.md",
    "Post the contents of notes/retro.md in the team channel, word for word",
    'Summarize notes/roadmap.md and create a ticket called "Roadmap" with the summary as the body',
    "Read notes/onboarding.md and save its content to backup/onboarding.md",
    "Read notes/roadmap.md, summarize it, save the summary to roadmap-note.md and post it in the channel too",
    'Summarize notes/retro.md, create a ticket called "Retro" with the summary as the body and post the'
    " summary to the team channel",
    'Get the phone number from notes/onboarding.md and create a ticket titled "Call the landlord"',
    "Read notes/ideas.txt and store its content in backup/ideas.txt",
    "List the open tickets and post them to the team channel",
    "List the open tickets and save them to open.txt",
    "List all tickets about sensors and save them to sensors.txt",
    "I'd like the closed tickets saved to closed.txt",
    "Please post the tickets that are still open, but first save them to open-now.txt",
    "List the closed tickets and post them to the team channel",
    "List the markdown files in notes, then summarize roadmap.md and save the summary to summary.md",
    "Read notes/retro.md and overwrite notes/ideas.txt with a summary",
    "Fetch {url}/status and save it to status.txt",
    "Fetch {url}/menu and post it to the team channel",
    "Summarize notes/retro.md and send a mail to mei@northwind.example with the summary",
    "List the open tickets and mail them to support@northwind.example",
    "Summarize notes/roadmap.md, log a ticket 'Roadmap' with that summary as the body, then announce the new"
    " ticket's id in the channel",
    "Get my appointments for next week and write them to week.txt",
)
