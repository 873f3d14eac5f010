"""The figures of the paper and further ones, each a short module.

`frame/` what all figures share: studies, style, report; `paper/` figures of the paper; `further/`
figures of our own.
"""
