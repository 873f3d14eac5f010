"""The figures of the paper and further ones, each a short module.

`frame/` shared code: studies, style, report; `paper/` figures of the paper; `further/`
further figures.
"""
