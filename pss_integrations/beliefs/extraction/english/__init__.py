"""How English says what somebody uses, wants, decided or leaves open; the rules behind :class:`RuleExtractor`.

A message is cut into its author's own sentences (``prose``). Each family of rules (``usage``, ``changes``,
``decisions``, ``tastes``, ``standing``, ``facts``, ``questions``) reads the forms that it knows as claims, unless the
words around them say that nothing is stated (``vetoes``). A ``conversation`` follows the claims to what holds at its
end.
"""
