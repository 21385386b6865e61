"""The routes of the page, by subject: each reads its request, asks a view model, and renders a template."""
