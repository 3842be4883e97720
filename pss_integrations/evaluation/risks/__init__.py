"""What the paper left untested (PSS, section F.10): what a state gives away, deletion, growth, poisoned histories."""
