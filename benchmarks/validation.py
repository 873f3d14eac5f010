"""x"""
def page(): return "# Validation\n"
