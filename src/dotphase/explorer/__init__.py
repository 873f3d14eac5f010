"""The explorer: an interactive page of the phase transition, and the server behind it.

`server/` the web application and its worker processes; `answers/` what it computes; `page/` the
page; `data/` tables that ship; `site.py` the page as plain files, without a server; `film.py` a film
of a path through the phase diagram. Of the rest of the package only the command line imports it.
"""
