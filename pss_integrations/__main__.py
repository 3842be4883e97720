"""``python -m pss_integrations`` is ``pssi``."""

from pss_integrations.cli import main

if __name__ == "__main__":
    main()
