"""The explorer: an interactive page of the phase transition, and the server behind it.

`server/` the web application and its worker processes; `answers/` what it computes; `page/` the
page; `data/` tables that ship. Nothing of it is imported by the rest of the package.
"""
