"""How English says what somebody uses, wants, decided or leaves open; the rules behind :class:`RuleExtractor`.

A message is cut into its author's own sentences (``prose``). Each family of rules (``usage``, ``changes``, ``turns``,
``decisions``, ``resolutions``, ``tastes``, ``leanings``, ``standing``, ``facts``, ``relations``, ``passives``,
``deadlines``, ``negations``, ``questions`` and others) reads the forms that it knows as claims, unless the words
around them say that nothing is stated (``vetoes``). A ``conversation`` follows the claims to what holds at its end;
``answers`` and ``corrections`` tell what closes a question, and what takes a claim back.
"""
