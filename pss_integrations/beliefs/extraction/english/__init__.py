"""How English says what somebody uses, wants, decided or leaves open; the rules behind :class:`RuleExtractor`.

A message is cut into its author's own sentences (``prose``), which are put into plain order (``pronouns``, ``elided``,
``rewrites``). Families of rules read what has a form of its own: what took the place of what (``changes``), decisions,
likes and dislikes (``tastes``, ``leanings``), standing orders (``standing``), open ``questions``. All else is read by
grammar (``general``): each clause is taken apart (``parsing``) by classes of words (``lexicon``), and kept if it says
of the speaker (``habits``) or of what is his (``things``) what will still be so tomorrow (``durable``, ``signs``).
Neither reads what nobody vouches for (``vetoes``). A ``conversation`` follows the claims to what holds at its end;
``answers``, ``suggestions`` and ``corrections`` tell what closes a question, is taken up, or takes a claim back.
"""
