"""dotphase: when does attention learn position, and when does it learn meaning?"""
