"""The explorer: one page on which the phase transition can be dragged, watched and trained, and the server behind it.

`app` is the web application, `crew` the worker processes, `work` what they do, `task` what may be asked,
`page/` the page. Nothing of it is imported by the rest of the package.
"""
