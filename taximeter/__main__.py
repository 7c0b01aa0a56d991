"""`python -m taximeter` is the command `taximeter`."""

from taximeter.cli import main

if __name__ == "__main__":
    main()
