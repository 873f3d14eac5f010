"""`python -m dotphase`."""

from dotphase.cli import main

if __name__ == "__main__":
    main()
